import { afterAll, expect, test } from "bun:test";
import { createApp } from "../../src/app.ts";
import { createContext } from "../../src/kernel/context.ts";
import { openDatabase } from "../../src/kernel/database/client.ts";
import { newId } from "../../src/kernel/ids.ts";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { countRoundTrips } from "../harness/round-trips.ts";

const { h, t, agentId } = await useAgent({ worker: true });

/** A second HTTP process, whose way to Postgres is counted. */
const counted = await countRoundTrips(h.databaseUrl);
const sql = openDatabase({ url: counted.url, max: 1, applicationName: "parley-test" });
const { config, log, relay, publicUrl } = h.ctx;
const encryptionKey = Buffer.alloc(32, 1);
const app = createApp(createContext({ config, log, sql, relay, redis: null, encryptionKey, publicUrl }));
afterAll(async () => {
  await sql.end();
  await counted[Symbol.asyncDispose]();
});

const sessions = `/v1/agents/${agentId}/sessions`;
const message = (text = "Hi") => ({ id: newId("message"), role: "user", parts: [{ type: "text", text }] });

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly body?: object;
  readonly key?: string;
}

/** Sends a request, and returns the round trips until its response begins, and the response. */
async function trips({ method = "POST", path, body = {}, key }: Asked) {
  const headers: Record<string, string> = {
    authorization: `Bearer ${t.token}`,
    "content-type": "application/json",
    ...(key === undefined ? {} : { "idempotency-key": key }),
  };
  const before = counted.count();
  const init = method === "GET" ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  const response = await app(new Request(`${publicUrl}${path}`, init));
  const count = counted.count() - before;
  return { count, status: response.status, response };
}

/** A session whose first turn has ended. */
async function idleSession(): Promise<string> {
  const { response } = await trips({ path: sessions, body: { message: message(), stream: false } });
  expect(response.status).toBe(201);
  return response.headers.get("location") ?? "";
}

/** A session with a turn that runs until it is canceled. */
async function runningSession(): Promise<string> {
  const { response } = await trips({
    path: sessions,
    body: { message: message('[[sim: text="one two" hangAfterChunks=1]]') },
  });
  const path = response.headers.get("location") ?? "";
  await response.body?.cancel();
  await eventually(async () => {
    const rows =
      await h.sql`select 1 from turns where session_id = ${path.split("/").at(-1) ?? ""} and status = 'running'`;
    return rows.length === 1;
  });
  return path;
}

/** How often each of these requests may wait for Postgres, its API key known from a moment ago. */
const most: Record<string, readonly [number, () => Promise<Asked> | Asked]> = {
  "a new session": [1, () => ({ path: sessions, body: { message: message() } })],
  "a further turn": [1, async () => ({ path: await idleSession(), body: { message: message() } })],
  "a new session, with an Idempotency-Key": [
    1,
    () => ({ path: sessions, body: { message: message() }, key: newId("request") }),
  ],
  "a further turn, with an Idempotency-Key": [
    1,
    async () => ({ path: await idleSession(), body: { message: message() }, key: newId("request") }),
  ],
  "a repeated turn": [4, () => repeated],
  "a cancellation": [4, async () => ({ path: `${await runningSession()}/cancel` })],
  "a session": [2, async () => ({ method: "GET", path: await idleSession() })],
  "a turn that waits": [
    8,
    async () => ({ path: await runningSession(), body: { message: message(), onBusy: "enqueue" } }),
  ],
};
const repeated = { path: sessions, body: { message: message() }, key: newId("request") };

for (const [what, [limit, ask]] of Object.entries(most)) {
  test(`${what} waits for Postgres ${limit} times at most`, async () => {
    let least = Number.POSITIVE_INFINITY;
    // A statement that the connection has not prepared yet takes a round trip more.
    for (let round = 0; round < 3; round++) {
      const { count, response } = await trips(await ask());
      expect(response.ok).toBe(true);
      await response.body?.cancel();
      least = Math.min(least, count);
    }
    expect(least).toBeLessThanOrEqual(limit);
  });
}

test("of several that ask at once under one Idempotency-Key, one runs and all get its answer", async () => {
  const asked = { path: sessions, body: { message: message(), stream: false }, key: newId("request") };
  const responses = await Promise.all(
    Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? trips(asked) : sendBeside(asked))),
  );
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 201));
  expect(new Set(responses.map(({ response }) => response.headers.get("x-turn-id"))).size).toBe(1);
});

/** Sends a request to the other process. */
async function sendBeside({ path, body, key = "" }: Asked) {
  const headers = { authorization: `Bearer ${t.token}`, "content-type": "application/json", "idempotency-key": key };
  const response = await h.app(
    new Request(`${publicUrl}${path}`, { method: "POST", headers, body: JSON.stringify(body) }),
  );
  return { status: response.status, response };
}
