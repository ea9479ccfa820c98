import { importsOf, sourcesIn } from "./sources.ts";

/** Tests of functions, which use the service only to prepare something: where it runs makes no difference to them. */
const inside = [
  "kernel/database/migrate",
  "kernel/database/schema",
  "sessions/recover/backlog",
  "mcp-connections/auth/renewal",
  "mcp-connections/tools",
  "memories/turns",
  "providers/client",
  "roles/pooler",
  "workspaces/shell",
  "workspaces/tools",
].map((name) => `test/${name}.test.ts`);

/** The test files that talk to the service, themselves or through what they import. */
export function filesOnTheService(): string[] {
  const sources = new Map(sourcesIn("test").map((source) => [source.path, source]));
  const starters = ["test/harness/harness.ts", "test/harness/process.ts"];
  const reaches = (path: string, seen = new Set<string>()): boolean => {
    const source = sources.get(path);
    if (source === undefined || seen.has(path)) return false;
    seen.add(path);
    return starters.includes(path) || importsOf(source, false).some((target) => reaches(target, seen));
  };
  return [...sources.keys()]
    .filter((path) => path.endsWith(".test.ts") && !inside.includes(path) && reaches(path))
    .map((path) => `./${path}`);
}
