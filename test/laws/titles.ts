import { errorTable } from "../../src/kernel/error-table.ts";
import type { Source } from "../harness/sources.ts";
import { file, type Law } from "./law.ts";

const codes = new Set(Object.values(errorTable).flatMap((row) => [row.b[1], "a" in row ? row.a[1] : row.b[1]]));
/** What stands in the first place behind `test(`, `test.each(…)(` and the like. */
const titleInCode = /(?:\b(?:test|it)(?:\.[a-z]+)?|\))\(\s*(["`])((?:\\.|(?!\1)[^\\])*)\1/g;
/** A status of an error, or one and its code, which may be made in the test. */
const refusal = /^[45]\d\d\b/;
const refusalWithCode = /^[45]\d\d (?:(\w+)|\$\{).*: /s;

/** `-t session_busy` finds what is tested of `session_busy` (docs/testing.md, "How tests are written"). */
export const titlesBeginWithTheCode: Law = {
  title: "a test of an error begins with its status and code",
  violations: (sources) =>
    sources
      .filter(({ path }) => path.endsWith(".test.ts"))
      .flatMap(({ path, text }) =>
        titlesIn({ path, text })
          .filter((title) => !isFound(title))
          .map((title) => `${path}: ${title}`),
      ),
  broken: [
    [file("test/a.test.ts", 'test("409: a second turn", () => {});')],
    [file("test/a.test.ts", 'test("409 for a second turn: it is told", () => {});')],
    [file("test/a.test.ts", 'test.each([1])("409 session_busy", () => {});')],
    [file("test/a.test.ts", 'test("a second turn is 409 session_busy", () => {});')],
  ],
};

function titlesIn({ text }: Source): string[] {
  return [...text.matchAll(titleInCode)].map((found) => found[2] as string);
}

/** A title that names a code in another place begins with a status of its success, or with a code where no status is. */
function isFound(title: string): boolean {
  if (refusal.test(title)) {
    const found = refusalWithCode.exec(title);
    return found !== null && (found[1] === undefined || codes.has(found[1]));
  }
  const words = title.match(/\w+/g) ?? [];
  const namesCode = words.some((word) => word.includes("_") && codes.has(word));
  return !namesCode || /^2\d\d\b/.test(title) || codes.has(words[0] as string);
}
