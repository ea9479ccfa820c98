import { diffArrays } from "diff";

/** A piece of one of two texts, and whether the other one has it too. */
export interface TextPiece {
  readonly text: string;
  readonly isOwn: boolean;
}

/** Texts that differ in more words are all marked: finding the fewest takes time with their square. */
const changedWordsMax = 500;

const words = new Intl.Segmenter(undefined, { granularity: "word" });
const wordsOf = (text: string) => [...words.segment(text)].map(({ segment }) => segment);

/** Returns two texts in pieces, with those marked that the other one does not have. */
export function diffTexts(one: string, other: string): { readonly one: TextPiece[]; readonly other: TextPiece[] } {
  const parts = diffArrays(wordsOf(one), wordsOf(other), { maxEditLength: changedWordsMax });
  if (parts === undefined) return { one: [{ text: one, isOwn: true }], other: [{ text: other, isOwn: true }] };
  const pieces = (left: "added" | "removed", own: "added" | "removed") =>
    parts.filter((part) => !part[left]).map((part) => ({ text: part.value.join(""), isOwn: part[own] }));
  return { one: pieces("added", "removed"), other: pieces("removed", "added") };
}
