import { splitCode } from "./comments.ts";
import { file, type Law, product } from "./law.ts";

interface Unwanted {
  readonly word: string;
  readonly pattern: RegExp;
  readonly instead: string;
  /** The number of comments that still have it. A change that rewrites one lowers it. */
  readonly most: number;
}

/** Words that a reader of English as a second language stumbles over (docs/style.md, "Prose"). */
const unwanted: readonly Unwanted[] = [
  { word: "so many", pattern: /\bso many\b/i, instead: "this many, or a name", most: 46 },
  { word: "nobody", pattern: /\bnobody\b/i, instead: "no one, or a passive", most: 58 },
  { word: "whoever", pattern: /\bwhoever\b/i, instead: "who it is: the caller, a reader, a process", most: 14 },
  { word: "of its own", pattern: /\b(of|for) (its|their|our) own\b/i, instead: "its own, separate, another", most: 36 },
  { word: "ring, rung", pattern: /\b(rings?|rung)\b/i, instead: "what is done: starts the next turn", most: 0 },
];

/** The figures of `unwanted` only go down. */
export const wordsArePlain: Law = {
  title: "no further comment has a word that is hard to read",
  violations: (sources) => {
    const comments = product(sources)
      .filter(({ path }) => !path.startsWith("src/client/generated/"))
      .flatMap(({ text }) => splitCode(text).comments);
    return unwanted.flatMap(({ word, pattern, instead, most }) => {
      const count = comments.filter((comment) => pattern.test(comment)).length;
      return count > most ? [`"${word}" is in ${count} comments, and was in ${most}; write ${instead}`] : [];
    });
  },
  broken: unwanted.map(({ word, most }) => [
    file("src/a.ts", ...Array.from({ length: most + 1 }, (_, index) => `const a${index} = 1; // ${word}`)),
  ]),
};
