import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { copiedText, copyOut } from "../../../src/kernel/database/copy-out.ts";
import { startHarness } from "../../harness/harness.ts";

const h = await startHarness();

describe("rows that are copied out", () => {
  test("bytes, nulls and texts of any kind come as they are", async () => {
    const odd = `'; drop table sessions; -- \\' "ä\n\t$1 ${"x".repeat(300)}`;
    const rows = await copyOut(h.sql, `select ${copiedText(odd)}, null::bytea, '\\x0001ff00'::bytea, ''::bytea`);
    expect(rows).toEqual([[Buffer.from(odd), null, Buffer.from([0, 1, 255, 0]), Buffer.alloc(0)]]);
    expect(await copyOut(h.sql, "select 1 where false")).toEqual([]);
  });

  test("rows of every size, one copy after the other on few connections", async () => {
    const content = randomBytes(500_000);
    await h.sql`create table copied as select n, substring(${content}::bytea for n * n) as content from generate_series(1, 700, 25) n`;
    for (let round = 0; round < 12; round += 1) {
      const rows = await copyOut(h.sql, "select content from copied order by n");
      expect(rows.map(([bytes]) => bytes?.byteLength)).toEqual(rows.map((_, index) => (1 + 25 * index) ** 2));
      expect(rows.every(([bytes]) => content.subarray(0, bytes?.byteLength).equals(bytes as Buffer))).toBe(true);
    }
  });

  test("an error before the first row or behind some is thrown, and the connection goes on", async () => {
    for (const query of [
      "select 1 from nowhere",
      "select repeat('x', 10000), 1 / (500 - n) from generate_series(1, 1000) n",
    ]) {
      await expect(copyOut(h.sql, query)).rejects.toThrow();
      expect(await copyOut(h.sql, "select 'x'::text")).toEqual([[Buffer.from("x")]]);
    }
  });
});
