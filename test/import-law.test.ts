import { describe, expect, test } from "bun:test";
import { importsOf, sourcesIn } from "./harness/sources.ts";

const ours = sourcesIn("src", "workers");

const isKernel = (path: string) => path.startsWith("src/kernel/");

/** Each broken rule as `file → what it may not do`. */
function violations(rule: (source: (typeof ours)[number]) => string[]): string[] {
  return ours.flatMap((source) => rule(source).map((fault) => `${source.path} → ${fault}`));
}

describe("the import law", () => {
  test("the kernel imports no slice", () => {
    const found = violations((source) =>
      isKernel(source.path) ? importsOf(source).filter((target) => !isKernel(target)) : [],
    );
    expect(found).toEqual([]);
  });

  test("a routes.ts is imported by app.ts only", () => {
    const found = violations((source) =>
      source.path === "src/app.ts" ? [] : importsOf(source).filter((target) => target.endsWith("/routes.ts")),
    );
    expect(found).toEqual([]);
  });

  test("only the roles that run a worker pool import workers/", () => {
    const found = violations((source) =>
      source.path.startsWith("workers/") || ["src/roles/start.ts", "src/roles/work.ts"].includes(source.path)
        ? []
        : importsOf(source).filter((target) => target.startsWith("workers/")),
    );
    expect(found).toEqual([]);
  });

  test("only workers/ imports the queue's runner", () => {
    const runner = /import\s*\{([^}]*)\}\s*from\s*"graphile-worker"/g;
    const found = violations(({ path, text }) =>
      path.startsWith("workers/")
        ? []
        : [...text.matchAll(runner)].flatMap(
            (match) => (match[1] as string).match(/\brun(Once|TaskList\w*)?\b/g) ?? [],
          ),
    );
    expect(found).toEqual([]);
  });

  test("only config.ts reads the environment", () => {
    const found = violations(({ path, text }) =>
      path === "src/kernel/config.ts" ? [] : (text.match(/\b(process|Bun|Deno|import\.meta)\s*\.\s*env\b/g) ?? []),
    );
    expect(found).toEqual([]);
  });

  test("only runtime.ts touches a runtime's own API", () => {
    const found = violations(({ path, text }) =>
      path === "src/kernel/runtime.ts"
        ? []
        : (withoutComments(text).match(/\b(Bun|Deno)\.\w+|from "bun(:\w+)?"/g) ?? []),
    );
    expect(found).toEqual([]);
  });

  test("nothing logs past the logger", () => {
    expect(violations(({ text }) => withoutComments(text).match(/\bconsole\.\w+/g) ?? [])).toEqual([]);
  });
});

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
}
