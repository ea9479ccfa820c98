import { expect, test } from "bun:test";
import { json } from "../../../src/kernel/database/client.ts";
import { statement } from "../../../src/kernel/database/statement.ts";
import { useService } from "../../harness/fixture.ts";

const { sql } = await useService();

interface Numbers {
  readonly numbers: readonly number[];
}

let written = 0;
const add = statement<{ readonly doubled: boolean }, Numbers, { sum: number; told: unknown }>(
  (sql, given, { doubled }) => {
    written += 1;
    const factor = doubled ? sql`${2}::int *` : sql``;
    const parts = [sql`n`, sql`+ ${1}::int`];
    const numbers = given(({ numbers }) => numbers);
    return sql`select sum(${factor} (${parts}))::int as sum, ${given(({ numbers }, client) => json(client, { numbers }))}::json as told
    from unnest(${numbers}::int[]) n where n = any(${numbers}::int[]) ${sql.unsafe("and true")}`;
  },
);

test("a statement is put together once for each shape, and takes its values anew", async () => {
  const first = await add(sql, { doubled: false }, { numbers: [1, 2] });
  expect(Array.from(first)).toEqual([{ sum: 5, told: { numbers: [1, 2] } }]);
  expect((await add(sql, { doubled: false }, { numbers: [10] }))[0]?.sum).toBe(11);
  expect((await add(sql, { doubled: true }, { numbers: [1, 2] }))[0]?.sum).toBe(10);
  expect((await add(sql, { doubled: true }, { numbers: [3] }))[0]?.sum).toBe(8);
  expect(written).toBe(2);
  await sql.begin(async (inner) => {
    expect((await add(inner, { doubled: false }, { numbers: [4] }))[0]?.sum).toBe(5);
  });
});

test("a fragment of a client has no place in it: its values would stay for good", () => {
  const wrong = statement<Record<never, never>, null, object>(() => sql`select 1`);
  expect(() => wrong(sql, {}, null)).toThrow(TypeError);
  const inside = statement<Record<never, never>, null, object>((writer) => writer`select ${sql`1`}`);
  expect(() => inside(sql, {}, null)).toThrow(TypeError);
});
