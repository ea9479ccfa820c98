import { extname } from "node:path";
import type { Source } from "../harness/sources.ts";

/** A text that is taken apart. */
export interface Split {
  /** The text without its comments. */
  readonly code: string;
  /** The comments in their order, each in one line. Lines of `//` that follow each other are one comment. */
  readonly comments: readonly string[];
}

/** Strings and regular expressions first, so that a comment's mark inside one of them is none. */
const tokens =
  /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`|(?<=[=(,:[!&|?{};\n]\s*|return\s)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*(?:\n\s*\/\/[^\n]*)*/g;

/** Takes TypeScript apart. */
export function splitCode(text: string): Split {
  const comments: string[] = [];
  const code = text.replaceAll(tokens, (token) => {
    if (!/^\/[*/]/.test(token)) return token;
    comments.push(
      token
        .replaceAll(/^\s*(\/\*+|\*\/|\*(?!\/)|\/\/)|\*\/$/gm, "")
        .replaceAll(/\s+/g, " ")
        .trim(),
    );
    return "";
  });
  return { code, comments };
}

/** The texts of a file that speak to its reader: a document's whole text, or the comments of code, SQL and scripts. */
export function proseOf({ path, text }: Source): readonly string[] {
  switch (extname(path)) {
    case ".md":
      return [text.replaceAll(/\s+/g, " ")];
    case ".ts":
    case ".tsx":
      return splitCode(text).comments;
    case ".sql":
      return linesMarked(text, "--");
    default:
      return /\.(ya?ml|sh|service|conf)$|Dockerfile|^\.ci\//.test(path) ? linesMarked(text, "#") : [];
  }
}

function linesMarked(text: string, mark: string): string[] {
  const found = text.split("\n").flatMap((line) => line.split(new RegExp(`(?:^|\\s)${mark} (.*)`))[1] ?? []);
  return found.length === 0 ? [] : [found.join(" ")];
}
