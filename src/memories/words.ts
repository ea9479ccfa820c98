/** Words are letters, their marks, and digits; everything else stands between them. */
const separators = /[^\p{L}\p{M}\p{N}]+/gu;

/**
 * A text as its words, one space apart, for Postgres' text search. The texts and
 * what is searched in them are taken apart by the same rule: case and the ways
 * Unicode can spell one letter make no difference, nothing is an operator, and
 * `tea/coffee` is two words, where Postgres by itself sees one file name.
 */
export function wordsOf(text: string): string {
  return text.normalize("NFKC").toLowerCase().replace(separators, " ").trim();
}
