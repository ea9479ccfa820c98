import { describe, expect, test } from "bun:test";
import { eventually } from "../../harness/harness.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { lineIs, textOfMessage } from "../../harness/line.ts";
import { withPatientClient } from "../../harness/patient-client.ts";
import { type Client, type Installation, sharedRedisUrl, startInstallation } from "../../harness/processes.ts";
import { StreamReader } from "../../harness/stream-reader.ts";
import { hasShown, isClaimed } from "../../harness/turn-checks.ts";

/** Longer than anything takes on a busy machine. */
const waitMs = 60_000;
const testMs = 120_000;
/** Says this much, and then nothing more. */
const hanging = '[[sim: text="one two three" chunks=3 hangAfterChunks=2]]';

async function send(
  c: Client,
  sessionId: string,
  text: string,
  onBusy: string,
): Promise<{ turnId: string; stream: StreamReader }> {
  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
  const response = await c.request("POST", `/v1/agents/${c.agentId}/sessions/${sessionId}`, { message, onBusy });
  expect(response.status).toBe(200);
  return { turnId: response.headers.get("x-turn-id") ?? "", stream: new StreamReader(response) };
}

async function textsOf(c: Client, sessionId: string): Promise<string[]> {
  const response = await c.request("GET", `/v1/agents/${c.agentId}/sessions/${sessionId}/messages?limit=200`);
  const { data } = (await response.json()) as { data: Parameters<typeof textOfMessage>[0][] };
  return data.map(textOfMessage);
}

const lastOf = ({ stream }: { stream: StreamReader }) => stream.chunks.at(-1)?.type;

describe.skipIf(sharedRedisUrl === null)("the line and kill -9 of a worker", () => {
  test.concurrent(
    "an interrupted turn whose worker died keeps what its readers saw, and the next one runs on another worker",
    async () => {
      await using installation = await startInstallation();
      const c = await installation.client((await installation.serve()).url);
      const doomed = await installation.work();
      const first = await c.turn(hanging);
      await hasShown(first);
      await eventually(() => first.stream.chunks.filter(({ type }) => type === "text-delta").length === 2);
      await doomed.kill();
      const urgent = await send(c, first.sessionId, "urgent", "interrupt");
      const queued = await send(c, first.sessionId, "queued", "enqueue");
      await lineIs(installation, first.sessionId, 2);
      await installation.work();
      await Promise.all([first, urgent, queued].map(({ stream }) => stream.closed));
      expect(lastOf(first)).toBe("abort");
      expect([lastOf(urgent), lastOf(queued)]).toEqual(["finish", "finish"]);
      const texts = await textsOf(c, first.sessionId);
      expect(texts[0]).toBe(hanging);
      expect(texts[1]).toBe("one two t");
      expect([texts[2], texts[4]]).toEqual(["urgent", "queued"]);
    },
    testMs,
  );

  test.concurrent(
    "a cancelled turn of several steps keeps those it had completed, and what readers saw of the next one",
    async () => {
      await using installation = await startInstallation();
      const c = await installation.client((await installation.serve()).url);
      const made = await c.request("PUT", `/v1/agents/${c.agentId}`, {
        tools: ["memory"],
        approvalInChat: { default: "full" },
      });
      expect(made.status).toBe(200);
      const doomed = await installation.work();
      const turn = await c.turn(
        '[[sim: text="First." tool=memory_save args={"text":"likes tea"} ; text="one two three" chunks=3 hangAfterChunks=2]]',
      );
      const saidSoFar = () =>
        turn.stream.chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
      await eventually(() => saidSoFar().endsWith("one two t"), waitMs);
      await doomed.kill();
      const path = `/v1/agents/${c.agentId}/sessions/${turn.sessionId}`;
      expect((await c.request("POST", `${path}/cancel`, { keep: "partial" })).status).toBe(202);
      await installation.work();
      await turn.stream.closed;
      const { data } = (await (await c.request("GET", `${path}/messages`)).json()) as {
        data: { parts: { type: string; state?: string; text?: string }[] }[];
      };
      const parts = data[1]?.parts.filter(({ type }) => type !== "step-start") ?? [];
      expect(parts.map(({ type, state, text }) => [type, state, text ?? ""])).toEqual([
        ["text", "done", "First."],
        ["tool-memory_save", "output-available", ""],
        ["text", "done", "one two t"],
      ]);
    },
    testMs,
  );

  test.concurrent(
    "between the end of a turn and the start of the next, with its job and without: the line goes on",
    async () => {
      await using installation = await startInstallation();
      await using model = holdModel(installation.model);
      const c = await installation.client((await installation.serve()).url, model.url);
      const doomed = await installation.work();
      const first = await c.turn(`first ${heldMark}`);
      await isClaimed(installation, first.turnId);
      const queued = [
        await send(c, first.sessionId, "one", "enqueue"),
        await send(c, first.sessionId, "two", "enqueue"),
      ];
      // The end of the first turn commits, and what would start the next one is held up here.
      await holdJobs(installation, first.sessionId, async () => {
        model.release();
        await first.stream.closed;
        await lineIs(installation, first.sessionId, 2);
        await doomed.kill();
      });
      // As if the job had been lost too.
      await installation.sql`delete from graphile_worker._private_jobs where key = ${`session.next:${first.sessionId}`}`;
      await installation.work();
      await Promise.all(queued.map(({ stream }) => stream.closed));
      expect(queued.map(lastOf)).toEqual(["finish", "finish"]);
      expect((await textsOf(c, first.sessionId)).filter((text) => ["one", "two"].includes(text))).toEqual([
        "one",
        "two",
      ]);
      await lineIs(installation, first.sessionId, 0);
    },
    testMs,
  );

  test.concurrent(
    "again and again while a line of twenty runs: each runs once, in its order",
    async () => {
      await using installation = await startInstallation();
      const c = await installation.client((await installation.serve()).url);
      let worker = await installation.work();
      const first = await c.turn("first");
      await first.stream.closed;
      const turns: Awaited<ReturnType<typeof send>>[] = [];
      for (let n = 0; n < 20; n++)
        turns.push(await send(c, first.sessionId, `turn ${n} [[sim: text=ok delayMs=20]]`, "enqueue"));
      for (const at of [3, 9, 14]) {
        await eventually(() => turns[at]?.stream.finished, waitMs);
        await worker.kill();
        worker = await installation.work();
      }
      await Promise.all(turns.map(({ stream }) => stream.closed));
      await lineIs(installation, first.sessionId, 0);
      const ended = await installation.sql<{ id: string; status: string }[]>`
        select id, status from turns where session_id = ${first.sessionId} and id <> ${first.turnId} order by claimed_at`;
      expect(ended.map(({ id }) => id)).toEqual(turns.map(({ turnId }) => turnId));
      const good = ended.filter(({ status }) => status === "succeeded");
      // One that had shown something when its worker was killed has failed.
      expect(good.length).toBeGreaterThanOrEqual(17);
      const asked = (await textsOf(c, first.sessionId)).filter((text) => /^turn \d+ /.test(text));
      expect(asked).toHaveLength(good.length);
    },
    testMs,
  );
});

/** Runs `work` while no worker can start the next turn of a session: its row is locked once the turn has ended. */
async function holdJobs({ databaseUrl }: Installation, sessionId: string, work: () => Promise<void>): Promise<void> {
  await withPatientClient(databaseUrl, (sql) =>
    sql.begin(async (inner) => {
      await inner`select 1 from turns where session_id = ${sessionId} and status = 'enqueued' for update`;
      await work();
    }),
  );
}
