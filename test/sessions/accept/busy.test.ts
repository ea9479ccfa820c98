import { afterAll, describe, expect, test } from "bun:test";
import { type App, createApp } from "../../../src/app.ts";
import { createContext } from "../../../src/kernel/context.ts";
import { openDatabase, type Sql } from "../../../src/kernel/database/client.ts";
import { useAgent } from "../../harness/fixture.ts";
import { type ApiResponse, eventually, type Harness } from "../../harness/harness.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { idle, messagesOf, play, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });
/** A second HTTP process's worth of the service: its own pool, the same database and relay. */
const otherSql = openDatabase({ url: h.databaseUrl, max: 10, applicationName: "parley-test" });
afterAll(() => otherSql.end());
const apps = [h.app, appOn(otherSql)];

function appOn(sql: Sql): App {
  const { config, log, relay, publicUrl, sealer } = h.ctx;
  const ctx = createContext({ config, log, sql, relay, redis: null, encryptionKey: Buffer.alloc(32), publicUrl });
  return createApp({ ...ctx, sealer });
}

/** Sends one request to each of the two processes in turn, all at once; `answered` is told each status. */
function atOnce(
  count: number,
  send: (index: number) => { method: string; path: string; body?: object; form: "a" | "b" },
  answered: (status: number) => void = () => {},
): Promise<ApiResponse[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const { method, path, body, form } = send(index);
      const headers = { authorization: `Bearer ${t.token}`, "content-type": "application/json", "api-form": form };
      const payload = body === undefined ? null : JSON.stringify(body);
      const app = apps[index % 2] as Harness["app"];
      const response = await app(new Request(`http://parley.test${path}`, { method, headers, body: payload }));
      answered(response.status);
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.startsWith("application/json");
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    }),
  );
}

/** How often each status and code was returned. */
function tally(responses: readonly ApiResponse[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of responses) {
    const key = `${status} ${body?.error?.code ?? ""}`.trim();
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

describe("one turn at a time per session", () => {
  for (const form of ["a", "b"] as const) {
    for (const stream of [true, false]) {
      test(`409 session_busy (A: SESSION_BUSY): all but one of 30 turns at once on two processes (form ${form}, stream ${stream})`, async () => {
        for (let round = 1; round <= 2; round++) {
          await using held = holdModel(h.model);
          const agent = await makeAgent({ model: held }, t);
          const { sessionId } = await play(t, agent, null, { message: userMessage("hi"), stream: false }, { form });
          const path = sessionPath(agent, sessionId);
          const body = { message: userMessage(heldMark), stream };
          let refused = 0;
          const thirty = atOnce(
            30,
            () => ({ method: "POST", path, body, form }),
            (status) => {
              if (status === 409) refused += 1;
            },
          );
          // None of the thirty comes after the end of the one that was accepted.
          await eventually(() => refused === 29);
          held.release();
          expect(tally(await thirty)).toEqual({ 200: 1, [form === "a" ? "409 SESSION_BUSY" : "409 session_busy"]: 29 });
          await idle(h, sessionId);
          expect(await messagesOf(t, agent, sessionId)).toHaveLength(4);
          const usage = await t.call("GET", `/v1/usage?groupBy=session&sessionId=${sessionId}`);
          expect(usage.body.totals.requestCount).toBe(2);
        }
      });
    }
  }

  test("turns, regenerations and deletions at once: whoever wins, the transcript is whole", async () => {
    for (let round = 0; round < 5; round++) {
      const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
      const path = sessionPath(agentId, sessionId);
      const responses = await atOnce(12, (index) =>
        index % 3 === 2
          ? { method: "DELETE", path: `${path}?deleteArtifacts=false`, form: "b" }
          : {
              method: "POST",
              path,
              form: "b",
              body:
                index % 3 === 0
                  ? { message: script("text=a firstDelayMs=100"), stream: false }
                  : { trigger: "regenerate-message", stream: false },
            },
      );
      for (const { status } of responses) expect([200, 204, 404, 409]).toContain(status);
      const deleted = responses.filter(({ status }) => status === 204).length;
      expect(deleted).toBeLessThanOrEqual(1);
      const messages = await h.sql<
        { role: string }[]
      >`select role from messages where session_id = ${sessionId} order by seq`;
      // A deleted one is erased soon, all of it.
      const whole = deleted === 1 ? /^(user assistant( user assistant)*)?$/ : /^user assistant( user assistant)*$/;
      expect(messages.map(({ role }) => role).join(" ")).toMatch(whole);
      const [active] =
        await h.sql`select 1 from turns where session_id = ${sessionId} and status in ('queued', 'running')`;
      expect(active).toBeUndefined();
    }
  });

  test("turns sent in the very moment another one ends are accepted or refused without a deadlock", async () => {
    const first = await play(t, agentId, null, { message: userMessage("hello"), stream: false });
    const path = sessionPath(agentId, first.sessionId);
    const client = async () => {
      for (let sent = 0; sent < 60; sent++) {
        const response = await t.call("POST", path, { body: { message: script("text=x"), stream: false } });
        expect([200, 409]).toContain(response.status);
      }
    };
    await Promise.all([client(), client(), client(), client()]);
    await h.sql`select pg_stat_force_next_flush()`;
    const [database] = await h.sql`select deadlocks from pg_stat_database where datname = current_database()`;
    expect(database?.deadlocks).toBe(0);
  });

  test("sessions do not get into each other's way: 40 at once all succeed", async () => {
    const responses = await atOnce(40, (index) => ({
      method: "POST",
      path: sessionPath(agentId, null),
      body: { message: script(`text="answer ${index}"`), stream: false },
      form: "b",
    }));
    expect(tally(responses)).toEqual({ 201: 40 });
    expect(responses.map(({ body }) => body.message.parts[1].text)).toEqual(
      responses.map((_, index) => `answer ${index}`),
    );
  });
});
