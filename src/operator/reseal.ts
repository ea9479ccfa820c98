import { readConfig } from "../kernel/config.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { createSealer, SealError, type Sealer } from "../kernel/seal.ts";
import { findEncryptionKey } from "../roles/encryption-key.ts";
import { type Command, jsonOption, UsageError, withOptions } from "./command.ts";
import { type SealedColumn, sealedColumns } from "./sealed-columns.ts";

/** What the command line takes (docs/stored-data.md, "Changing the encryption key"). */
export const resealUsage = "reseal [--json]\n";

/** Rows that one step looks at, and seals at most. */
const stepRows = 200;
/** A running installation may write what a pass has gone by already; then there is another one, up to this many. */
const passesMax = 5;
/** Values that do not open are named up to this many. */
const namedMax = 10;

/** What became of the sealed values. */
interface Resealed {
  /** Values sealed anew, by table and column. */
  readonly counts: Map<string, number>;
  /** Values that no key of this process opens. */
  readonly unopened: Set<string>;
  /** Whether the last pass found nothing left to seal. */
  done: boolean;
}

/** Returns the command, read before anything is opened. Throws `UsageError`. */
export const readResealCommand = withOptions(
  jsonOption,
  ({ json }): Command =>
    async (sql) => {
      const config = readConfig();
      const current = await findEncryptionKey(config);
      const sealer = createSealer({ current, previous: config.previousEncryptionKeys });
      const { counts, unopened, done } = await reseal(sql, sealer);
      const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
      const said = `${total} sealed values were sealed anew with ENCRYPTION_KEY.`;
      if (unopened.size > 0) throw new UsageError(`${said} ${refusal(unopened)}`);
      if (!done)
        throw new UsageError(
          `${said} A running process still seals with another key: give every process this ENCRYPTION_KEY, then run this again.`,
        );
      if (json === true) return `${JSON.stringify({ resealed: total, columns: Object.fromEntries(counts) })}\n`;
      const lines = [...counts].map(([column, count]) => `${column.padEnd(40)}${count}\n`);
      return `${lines.join("")}${said} Keys in ENCRYPTION_KEY_PREVIOUS are not needed any more.\n`;
    },
);

function refusal(unopened: ReadonlySet<string>): string {
  const named = [...unopened].slice(0, namedMax).join(", ");
  const more = unopened.size > namedMax ? ", …" : "";
  return `${unopened.size} could not be opened and stay as they are (${named}${more}): name the key that they were sealed with in ENCRYPTION_KEY_PREVIOUS, or enter these secrets anew.`;
}

/** Seals everything with the sealer's own key, in small steps; what has it already is left alone, so that it can be run again after a stop. */
export async function reseal(sql: AnySql, sealer: Sealer): Promise<Resealed> {
  const result: Resealed = { counts: new Map(), unopened: new Set(), done: false };
  for (const { table, column } of sealedColumns) result.counts.set(`${table}.${column}`, 0);
  for (let pass = 0; pass < passesMax && !result.done; pass += 1) {
    let left = 0;
    for (const column of sealedColumns) left += await resealColumn(sql, sealer, column, result);
    result.done = left === 0;
  }
  return result;
}

type SealedRow = Readonly<Record<string, unknown>> & { readonly sealed: Buffer | null };

/** Makes one pass over a column. Returns how many values it found under another key, and could open. */
async function resealColumn(sql: AnySql, sealer: Sealer, column: SealedColumn, result: Resealed): Promise<number> {
  const name = `${column.table}.${column.column}`;
  let found = 0;
  let after: readonly unknown[] | null = null;
  for (;;) {
    const rows: readonly SealedRow[] = await readStep(sql, sealer, column, after);
    for (const row of rows) {
      if (row.sealed === null) continue;
      const opened = openSealed(sealer, row.sealed, column.sealedFor(row));
      if (opened === null) {
        result.unopened.add(`${name} of ${nameOf(keyOf(column, row))}`);
        continue;
      }
      found += 1;
      const count = await replace(sql, column, row, sealer.seal(opened, column.sealedFor(row)));
      result.counts.set(name, (result.counts.get(name) ?? 0) + count);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < stepRows) return found;
    after = keyOf(column, last);
  }
}

/** Returns the next rows in the order of the primary key; `sealed` is null in those that have nothing to seal anew. */
async function readStep(
  sql: AnySql,
  sealer: Sealer,
  { table, column, key, beside = [] }: SealedColumn,
  after: readonly unknown[] | null,
): Promise<readonly SealedRow[]> {
  const places = key.map((_, index) => `$${index + 2}`).join(", ");
  const text = `
    select ${[...key, ...beside].join(", ")},
      case when length(${column}) > 0 and substring(${column} for ${sealer.mark.length}) <> $1 then ${column} end as sealed
    from ${table} ${after === null ? "" : `where (${key.join(", ")}) > (${places})`}
    order by ${key.join(", ")} limit ${stepRows}`;
  return sql.unsafe<SealedRow[]>(text, [sealer.mark, ...((after ?? []) as string[])]);
}

/** Replaces one value, unless somebody has written another one meanwhile. Returns how many it replaced. */
async function replace(sql: AnySql, column: SealedColumn, row: SealedRow, sealed: Buffer): Promise<number> {
  const guard = column.key.map((field, index) => `${field} = $${index + 3}`).join(" and ");
  const text = `update ${column.table} set ${column.column} = $1 where ${column.column} = $2 and ${guard}`;
  const { count } = await sql.unsafe(text, [sealed, row.sealed, ...keyOf(column, row)] as string[]);
  return count;
}

function openSealed(sealer: Sealer, sealed: Buffer, sealedFor: string): string | null {
  try {
    return sealer.open(sealed, sealedFor);
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

/** Returns the values of a row's primary key; the driver names the columns in camel case. */
function keyOf({ key }: SealedColumn, row: SealedRow): readonly unknown[] {
  return key.map((field) => row[field.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())]);
}

function nameOf(key: readonly unknown[]): string {
  return key
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value)))
    .join("/");
}
