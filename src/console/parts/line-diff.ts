import { diffArrays } from "diff";

/** One line of a text that changed: kept, only in the older one, or only in the newer one. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Texts that differ in more lines are shown as removed and added as a whole: finding the fewest takes time with their square. */
const changedLinesMax = 500;

/** Returns two texts as one list of lines, with the fewest that differ; where very many do, all of both. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const parts = diffArrays([...before], [...after], { maxEditLength: changedLinesMax });
  const linesOf = (kind: DiffLine["kind"], texts: readonly string[]) => texts.map((text) => ({ kind, text }));
  if (parts === undefined) return [...linesOf("removed", before), ...linesOf("added", after)];
  return parts.flatMap(({ value, removed, added }) => linesOf(removed ? "removed" : added ? "added" : "same", value));
}
