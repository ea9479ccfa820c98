import { isCode, type Source } from "../harness/sources.ts";
import { splitCode } from "./comments.ts";
import { file, type Law, product } from "./law.ts";

/** Configuration is read once, checked, and handed on. */
export const configReadsTheEnvironment: Law = {
  title: "only config.ts reads the environment",
  violations: (sources) =>
    matches(product(sources), /\b(process|Bun|Deno|import\.meta)\s*\.\s*env\b/g, "src/kernel/config.ts"),
  broken: [[file("src/a.ts", "const port = process.env.PORT;")]],
};

/** The service runs on Bun and on Deno. */
export const runtimeTouchesRuntimes: Law = {
  title: "only runtime.ts uses a runtime's own functions",
  violations: (sources) => matches(product(sources), /\b(Bun|Deno)\.\w+|from "bun(:\w+)?"/g, "src/kernel/runtime.ts"),
  broken: [[file("src/a.ts", 'Bun.file("a");')], [file("src/a.ts", 'import { sql } from "bun";')]],
};

/** Lines of the log are JSON with a level, and secrets are left out of them. */
export const nothingPassesTheLogger: Law = {
  title: "nothing logs past the logger",
  violations: (sources) => matches(product(sources), /\bconsole\.\w+/g),
  broken: [[file("workers/a.ts", 'console.log("a");')]],
};

/** `#field` is private when the program runs, too. A constructor can only be `private`. */
export const fieldsArePrivate: Law = {
  title: "a private field is #field",
  violations: (sources) =>
    matches(
      sources.filter(({ path }) => isCode(path)),
      /^\s*(private|protected) (?!constructor)[^\n]*/gm,
    ),
  broken: [[file("test/a.ts", "class A {", "  private readonly b = 1;", "}")]],
};

/** A test that is marked so hides all others, or itself. */
export const everyTestRuns: Law = {
  title: "no test is left out or singled out",
  violations: (sources) =>
    matches(
      sources.filter(({ path }) => path.startsWith("test/") && !path.startsWith("test/laws/") && isCode(path)),
      /\b(test|describe|it)\.(only|todo|skip)\(/g,
    ),
  broken: [[file("test/a.test.ts", 'test.only("a", () => {});')]],
};

/** What a pattern finds outside comments, as `file → what was found`. */
function matches(sources: readonly Source[], pattern: RegExp, except?: string): string[] {
  return sources
    .filter(({ path }) => path !== except)
    .flatMap(({ path, text }) =>
      (splitCode(text).code.match(pattern) ?? []).map((found) => `${path} → ${found.trim()}`),
    );
}
