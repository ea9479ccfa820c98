import type { AgentVersion } from "parley/client";

/** A field in which two versions differ, as text over lines. */
export interface FieldDiff {
  readonly field: string;
  readonly lines: readonly DiffLine[];
}

/** One line of a text that changed: kept, only in the older one, or only in the newer one. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Texts of more lines are shown as removed and added as a whole: comparing takes time with the product of both. */
const comparedLinesMax = 500;
/** What differs in every version. */
const ownFields = new Set(["version", "createdAt", "agentId", "tenantId"]);

/** Returns the fields in which two versions of an agent differ, each line by line. */
export function diffVersions(older: AgentVersion, newer: AgentVersion): FieldDiff[] {
  const names = [...new Set([...Object.keys(older), ...Object.keys(newer)])].filter((name) => !ownFields.has(name));
  return names.flatMap((field) => {
    const before = textOf(older[field as keyof AgentVersion]);
    const after = textOf(newer[field as keyof AgentVersion]);
    return before === after ? [] : [{ field, lines: diffLines(before.split("\n"), after.split("\n")) }];
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2);
}

/** Returns two texts as one list of lines, by their longest common part. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (Math.max(before.length, after.length) > comparedLinesMax) return [...before.map(removed), ...after.map(added)];
  const common = commonLengths(before, after);
  const lines: DiffLine[] = [];
  let left = 0;
  let right = 0;
  while (left < before.length || right < after.length) {
    const [old, next] = [before[left], after[right]];
    if (old !== undefined && old === next) {
      lines.push({ kind: "same", text: old });
      left += 1;
      right += 1;
    } else if (
      next === undefined ||
      (old !== undefined && at(common, left + 1, right) >= at(common, left, right + 1))
    ) {
      lines.push(removed(old as string));
      left += 1;
    } else {
      lines.push(added(next));
      right += 1;
    }
  }
  return lines;
}

const at = (table: readonly (readonly number[])[], left: number, right: number) => table[left]?.[right] ?? 0;

/** For each pair of places, how many lines the rests have in common. */
function commonLengths(before: readonly string[], after: readonly string[]): number[][] {
  const table = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0));
  for (let left = before.length - 1; left >= 0; left--)
    for (let right = after.length - 1; right >= 0; right--)
      (table[left] as number[])[right] =
        before[left] === after[right]
          ? at(table, left + 1, right + 1) + 1
          : Math.max(at(table, left + 1, right), at(table, left, right + 1));
  return table;
}
