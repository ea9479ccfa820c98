import { boundMarks } from "./terms.ts";

/** Words are letters, their marks, and digits; everything else stands between them. */
const separators = /[^\p{L}\p{M}\p{N}]+/gu;

/**
 * Returns a text's words with one space between them, for the column `words`, in which processes of before 0.3
 * search. What this version finds is in `terms.ts`.
 * Texts and searches are split by the same rule: case and the ways Unicode can
 * spell one letter make no difference, no character is an operator, and
 * `tea/coffee` is two words, where Postgres by itself sees one file name.
 */
export function wordsOf(text: string): string {
  return boundMarks(text).normalize("NFKC").toLowerCase().replace(separators, " ").trim();
}
