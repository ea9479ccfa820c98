import type { Source } from "../harness/sources.ts";
import { splitCode } from "./comments.ts";
import { file, type Law, product } from "./law.ts";

/** What opens a transaction, up to the function that runs in it. */
const opened = /\b(?:tx|commit|withWorkspace|sql\.begin)(?:<[^>]*>)?\((?=[^;]*?\((?:inner|tx)\b)/g;
/** A function that is given one. */
const given = /\b(?:inner|tx): Tx\b/g;
/** What nothing inside a transaction may use: the pool, and other servers. */
const foreign = /\b(?:ctx|context|this\.#ctx)\.sql\b|\bsql(?:<[^>`]*>)?`|\b\w*[fF]etch\(/;

/**
 * A transaction holds a pooled connection: who waits in it for another server or for a
 * second connection keeps both from everybody. At run time `refuseInTransaction` sees the
 * rest of it, whatever way the call takes.
 */
export const transactionsUseNothingElse: Law = {
  title: "what runs in a transaction uses neither the pool nor another server",
  violations: (sources) =>
    product(sources).flatMap(({ path, text }: Source) => {
      const { code } = splitCode(text);
      const called = [...code.matchAll(opened)].map(({ index, 0: call }) =>
        enclosed(code, index + call.length - 1, "(", ")").replace(/^\([^()]*?,(?=\s*(?:async\s*)?\()/, ""),
      );
      const declared = [...code.matchAll(given)].map(({ index }) => bodyAfter(code, index));
      return [...called, ...declared]
        .map((inside) => foreign.exec(inside)?.[0])
        .filter((found) => found !== undefined)
        .map((found) => `${path} → ${found}`);
    }),
  broken: [
    [file("src/a.ts", "tx(ctx.sql, async (inner) => {", "  await inner`select 1`;", "  await find(ctx.sql);", "});")],
    [file("src/a.ts", "commit((inner) => write(inner, sql`select 1`));")],
    [file("src/a.ts", "async function write(inner: Tx): Promise<void> {", "  await directFetch(url);", "}")],
  ],
};

/** The text from a bracket to the one that closes it. */
function enclosed(code: string, from: number, open: string, close: string): string {
  let depth = 0;
  for (let at = from; at < code.length; at++) {
    if (code[at] === open) depth += 1;
    if (code[at] === close) depth -= 1;
    if (depth === 0) return code.slice(from, at + 1);
  }
  return code.slice(from);
}

/** The body of the function among whose parameters a place is; empty for a type's. */
function bodyAfter(code: string, place: number): string {
  let depth = 0;
  let at = place;
  for (; at < code.length && depth >= 0; at++) {
    if (code[at] === "(") depth += 1;
    if (code[at] === ")") depth -= 1;
  }
  const rest = code.slice(at);
  const start = /^(?:: (?:[^;{}=]|\{[^{}]*\}|=>(?! \{))*)?(?:=> )?\{/.exec(rest);
  return start === null ? "" : enclosed(rest, start[0].length - 1, "{", "}");
}
