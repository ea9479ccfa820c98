import { afterAll, expect, test } from "bun:test";
import { createContext } from "../../../src/kernel/context.ts";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import { startWorkerPool } from "../../../workers/main.ts";
import { useService } from "../../harness/fixture.ts";
import { countRoundTrips } from "../../harness/round-trips.ts";
import { makeAgent } from "../../harness/seed.ts";
import { play, script } from "../../harness/turns.ts";

const encryptionKey = Buffer.alloc(32, 1);
const h = await useService({ env: { ENCRYPTION_KEY: encryptionKey.toString("base64") } });
const t = await h.tenant();

/** A worker whose way to Postgres is counted, but for that of its locks and its queue. */
const counted = await countRoundTrips(h.databaseUrl, "counted-worker");
const sql = openDatabase({ url: counted.url, max: 1, applicationName: "counted-worker" });
const { config, log, relay, publicUrl } = h.ctx;
const ctx = createContext({ config, log, sql, relay, redis: null, encryptionKey, publicUrl });
const pool = await startWorkerPool(ctx, { databaseUrl: counted.url });
afterAll(async () => {
  await pool.drain(0);
  await sql.end();
  await counted[Symbol.asyncDispose]();
});

const workspace = await t.parley.workspaces.create({ name: "files" });
const agentId = await makeAgent(h, t, {
  tools: ["memory", "write_todos", "workspace"],
  workspaceId: workspace.id,
  approvalInChat: { default: "full" },
});
await play(t, agentId, null, { message: script('tool=write args={"path":"a.txt","content":"old"}; text="done"') });

/** The least that a turn waited for Postgres, of several: sweeps of the worker come between. */
async function least(text: (round: number) => string): Promise<number> {
  const counts: number[] = [];
  for (let round = 0; round < 6; round++) {
    const before = counted.count();
    const { chunks } = await play(t, agentId, null, { message: script(text(round)) });
    counts.push(counted.count() - before);
    expect(chunks.filter(({ type }) => type === "tool-output-error")).toEqual([]);
    expect(chunks.at(-1)?.type).toBe("finish");
  }
  return Math.min(...counts);
}

/** How often a step waits for Postgres more than a turn without a tool; Redis is waited for once more. */
const most: Readonly<Record<string, readonly [number, (round: number) => string]>> = {
  memory_save: [5, (round) => `tool=memory_save args={"text":"note ${round}"}; text="done"`],
  memory_search: [4, () => `tool=memory_search args={"query":"note"}; text="done"`],
  write_todos: [5, () => `tool=write_todos args={"todos":[]}; text="done"`],
  read: [4, () => `tool=read args={"path":"a.txt"}; text="done"`],
  write: [5, (round) => `tool=write args={"path":"b.txt","content":"${round}"}; text="done"`],
  edit: [
    6,
    (round) =>
      `tool=edit args={"path":"a.txt","oldText":"${round === 0 ? "old" : round - 1}","newText":"${round}"}; text="done"`,
  ],
};

test("a step with a built-in tool waits for Postgres a few times", async () => {
  const plain = await least(() => 'text="done"');
  const found: Record<string, number> = {};
  for (const [name, [, text]] of Object.entries(most)) found[name] = (await least(text)) - plain;
  process.stderr.write(`  a turn: ${plain}; a step more: ${JSON.stringify(found)}\n`);
  for (const [name, [limit]] of Object.entries(most)) expect(found[name], name).toBeLessThanOrEqual(limit);
}, 120_000);
