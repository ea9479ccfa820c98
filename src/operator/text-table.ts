/** The columns of a table: the title of each, and its cell of a thing. */
export type Columns<T> = readonly (readonly [title: string, show: (thing: T) => string])[];

/** Returns things as lines of text, each column as wide as its widest cell. */
export function table<T>(columns: Columns<T>, things: readonly T[]): string {
  const rows = [columns.map(([title]) => title), ...things.map((thing) => columns.map(([, show]) => show(thing)))];
  const widths = columns.map((_, place) => Math.max(...rows.map((row) => row[place]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((cell, place) => cell.padEnd(widths[place] ?? 0)).join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}
