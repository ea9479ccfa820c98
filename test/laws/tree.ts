import type { Source } from "../harness/sources.ts";
import { file, type Law } from "./law.ts";

/** What may be at the root, beside what git ignores. */
const rootEntries = [
  ".ci",
  ".git",
  ".gitignore",
  "LICENSE",
  "README.md",
  "SECURITY.md", // Where hosts of repositories look for it, and offer it to who reports a fault.
  "biome.json",
  "bun.lock",
  "bunfig.toml",
  "deno.json",
  "docs",
  "loadtest",
  "package-lock.json",
  "package.json",
  "sql",
  "src",
  "test",
  "tsconfig.json",
  "workers",
];
/** The page with the map. */
const map = "docs/where.md";
const ignored = /\.log$/;
/** Folders of the product whose own folders are on the map, too. */
const mapped = ["src", "src/kernel", "src/sessions"];
/** Folders at the root that a reader of the code needs not know. */
const unmapped = [".ci"];

/** A new name at the root is a decision: it is written here, and on the map. */
export const rootIsKept: Law = {
  title: "the root holds nothing beside what it is for",
  violations: (sources) => {
    const names = new Set(sources.map(({ path }) => path.split("/")[0] as string));
    return [...names].filter((name) => !rootEntries.includes(name) && !ignored.test(name));
  },
  broken: [[file("scripts/a.ts")]],
};

/** The table of docs/where.md whose rows begin with paths in backticks. */
export const mapIsTheTree: Law = {
  title: "the map of docs/where.md is the tree",
  violations: (sources) => {
    const drawn = new Set(mapOf(sources).map((path) => path.replace(/\/$/, "")));
    const folders = new Set(sources.flatMap(({ path }) => mappedFolders(path)));
    const known = new Set(sources.map(({ path }) => path));
    return [
      ...[...folders].filter((folder) => !drawn.has(folder)).map((folder) => `${folder}/ is not on the map`),
      ...[...drawn].filter((path) => !folders.has(path) && !known.has(path)).map((path) => `${path} does not exist`),
    ];
  },
  broken: [
    [file(map, "| `src/a/` | a |"), file("src/a/a.ts"), file("src/b/b.ts")],
    [file(map, "| `src/` | a |", "| `src/a/` | a |", "| `src/b/` | b |"), file("src/a/a.ts")],
  ],
};

/** `sql/README.md` has the rule. */
export const migrationsAreNumbered: Law = {
  title: "migrations are numbered from 1 on, without a gap",
  violations: (sources) =>
    sources
      .map(({ path }) => path)
      .filter((path) => /^sql\/.*\.sql$/.test(path) && !["sql/schema.sql", "sql/statements.sql"].includes(path))
      .sort()
      .filter((path, index) => !path.startsWith(`sql/${String(index + 1).padStart(3, "0")}_`)),
  broken: [
    [file("sql/001_a.sql"), file("sql/003_b.sql")],
    [file("sql/001_a.sql"), file("sql/001_b.sql")],
  ],
};

function mapOf(sources: readonly Source[]): string[] {
  const text = sources.find(({ path }) => path === map)?.text ?? "";
  const rows = text.split("\n").filter((line) => /^\| `(src|workers|sql|docs|test|loadtest)\b/.test(line));
  return rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map((match) => match[1] as string),
  );
}

/** The folders above a file that belong on the map. */
function mappedFolders(path: string): string[] {
  const parts = path.split("/");
  const folders = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
  return folders.filter((folder) => {
    const parent = folder.split("/").slice(0, -1).join("/");
    return mapped.includes(parent) || (parent === "" && folder !== "src" && !unmapped.includes(folder));
  });
}
