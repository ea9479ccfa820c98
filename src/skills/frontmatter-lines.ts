import { broken, type FilePlace } from "./frontmatter-place.ts";

/** A field of a frontmatter that YAML refused as a whole: its line, and those that belong to it. */
export interface Part {
  readonly key: string;
  /** Where its value begins. */
  readonly place: FilePlace;
  /** What follows the colon, and the lines below it, without the indentation of the frontmatter. */
  readonly lines: readonly string[];
  /** The same with its key, for YAML. */
  readonly yaml: string;
  /** A line below it that has neither a key nor an indentation. */
  readonly stray: FilePlace | null;
}

/** `key: rest of the line`; the key may be in quotes. */
const fieldLine = /^(["']?)([A-Za-z_][\w.-]*)\1[ \t]*:(?=\s|$)/;
/** The same for the two fields that are needed, which some write without a space after the colon. */
const neededLine = /^(["']?)(name|description)\1[ \t]*:/;
/** Lines without indentation that still belong to the field above: nothing, a comment, an item of a list, the end of brackets. */
const belongs = /^(?:$|#|-\s|-$|[\]})])/;

/** Returns the fields of a frontmatter by its lines: one that begins with a key begins a field, others belong to the one above. */
export function partsOf({ text, line: first }: { readonly text: string; readonly line: number }): Part[] {
  const lines = text.split("\n").map((line) => {
    const untabbed = line.replace(/\r$/, "").replace(/^[ \t]+/, (indent) => indent.replaceAll("\t", "  "));
    return untabbed.trim() === "" ? "" : untabbed;
  });
  const indent = Math.min(...lines.filter((line) => line !== "" && !/^\s*#/.test(line)).map(indentOf));
  const parts: { key: string; place: FilePlace; lines: string[]; yaml: string; stray: FilePlace | null }[] = [];
  for (const [index, whole] of lines.entries()) {
    const line = whole.slice(Math.min(indent, indentOf(whole)));
    const head = neededLine.exec(line) ?? fieldLine.exec(line);
    const last = parts.at(-1);
    if (head !== null) {
      const rest = line.slice(head[0].length);
      const column = indent + head[0].length + indentOf(rest) + 1;
      const place = { line: first + index, column };
      parts.push({ key: head[2] as string, place, lines: [rest], yaml: `${head[0]} ${rest}`, stray: null });
    } else if (last !== undefined) {
      last.lines.push(line);
      last.yaml += `\n${line}`;
      if (!/^\s/.test(line) && !belongs.test(line)) last.stray ??= { line: first + index, column: indent + 1 };
    }
  }
  return parts;
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** Returns a field's text as it stands, where YAML refuses even the field alone. Throws 400 where it may mean several things. */
export function verbatim({ key, lines, place, stray }: Part): string {
  if (stray !== null)
    throw broken(stray, `this line has no key, and may belong to ${key}`, "indent it by two spaces, or remove it");
  const [head = "", ...below] = lines.map((line) => line.trim());
  if (/^[|>][-+0-9]*$/.test(head)) return below.join(head.startsWith("|") ? "\n" : " ").trim();
  const text = [head, ...below.filter((line) => !line.startsWith("#"))].filter((line) => line !== "").join(" ");
  const quote = /^["']/.exec(text)?.[0];
  return quote === undefined ? text : withoutQuotes(text, quote, place);
}

/**
 * Returns what stands between the quotes around a text; quotes within it, and escapes
 * that YAML does not know, stay (`"Reads C:\Users"`). A text that only begins with a
 * quoted word keeps its quotes.
 */
function withoutQuotes(text: string, quote: string, place: FilePlace): string {
  const end = text.lastIndexOf(quote);
  if (end === 0) throw broken(place, "a quote is not closed", `end the value with ${quote}, or take the quote away`);
  const inner = text.slice(1, -1);
  const [first] = inner.matchAll(quote === '"' ? /(?<!\\)"/g : /(?<![\p{L}\p{N}])'|'(?![\p{L}\p{N}])/gu);
  const isWhole =
    end === text.length - 1 &&
    (first === undefined || first.index === 0 || /\s|[([{]/.test(inner[first.index - 1] ?? ""));
  if (!isWhole) return text;
  return quote === "'" ? inner.replaceAll("''", "'") : inner.replaceAll(/\\(["\\])/g, "$1");
}
