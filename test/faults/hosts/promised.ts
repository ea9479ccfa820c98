import { expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import type { Row } from "./rows.ts";
import type { Traffic } from "./traffic.ts";

/** What a row of the table is given to say what it saw. */
export interface Account {
  /** The figure that the promise is about, and what was seen besides. */
  tell(figure: string, seen: string): void;
  /** For the picture: the traffic, and when the fault began and ended. */
  draw(traffic: Traffic, ...marks: readonly number[]): void;
}

/** What readers are promised, whatever becomes of Redis. */
export const whole = "no open stream ends with an error; each reader sees the whole, once";

/** Any row has ended within this. */
const rowMs = 900_000;

/** Tries a promise, as a test, and writes its row down. */
export function promised(
  { name, fault, promise }: Pick<Row, "name" | "fault" | "promise">,
  work: (account: Account) => Promise<void>,
  { skipped = null }: { readonly skipped?: string | null } = {},
): void {
  const row: Row = { name, fault, promise, figure: "", seen: "", held: false };
  const title = `${name}: ${fault}: ${promise}`;
  if (skipped !== null) {
    test.skipIf(true)(title, () => {});
    write({ ...row, figure: "not tried", seen: skipped, held: true });
    return;
  }
  test(
    title,
    async () => {
      let drawn: Traffic | null = null as Traffic | null;
      try {
        await work({
          tell: (figure, seen) => Object.assign(row, { figure, seen }),
          draw: (traffic, ...marks) => {
            row.marks = marks.map((at) => at - traffic.startedAt);
            drawn = traffic;
          },
        });
        row.held = true;
      } finally {
        if (drawn !== null) row.samples = drawn.samples();
        write(row);
      }
      expect(row.figure).not.toBe("");
    },
    rowMs,
  );
}

function write(row: Row): void {
  const file = process.env.PARLEY_FAULTS_TABLE ?? "";
  if (file !== "") appendFileSync(file, `${JSON.stringify(row)}\n`);
  process.stderr.write(`  ${row.name}: ${row.held ? "" : "NOT HELD "}${row.figure}; ${row.seen}\n`);
}
