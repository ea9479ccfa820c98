import { afterAll, describe, expect, test } from "bun:test";
import { EventSource } from "eventsource";
import { listen } from "../../src/kernel/runtime.ts";
import { openLink } from "../faults/link.ts";
import { makeClientToken } from "../harness/client-tokens.ts";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { script, sessionPath } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });
const service = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
const link = await openLink(service.port);
const { token } = await makeClientToken(t, { agentId });
afterAll(async () => {
  await link[Symbol.asyncDispose]();
  await service.stop(true);
});

/** What a client saw, connection by connection. */
interface Seen {
  readonly source: EventSource;
  readonly sent: (string | null)[];
  /** Connections whose response has come. */
  opened(): number;
  readonly events: { readonly id: string; readonly data: string }[];
  readonly errors: (number | undefined)[];
}

/** Follows a session as the package's page says, with the token in a header. */
function follow(path: string, credential = token): Seen {
  const seen = {
    sent: [] as (string | null)[],
    events: [] as Seen["events"][number][],
    errors: [] as (number | undefined)[],
  };
  const source = new EventSource(`http://127.0.0.1:${link.port}${path}/stream`, {
    fetch: (input, init) => {
      seen.sent.push(new Headers(init.headers).get("last-event-id"));
      return fetch(input, { ...init, headers: { ...init.headers, Authorization: `Bearer ${credential}` } });
    },
  });
  let opened = 0;
  source.onopen = () => {
    opened += 1;
  };
  source.onmessage = ({ data, lastEventId }) => {
    seen.events.push({ id: lastEventId, data });
    if (data === "[DONE]") source.close();
  };
  source.onerror = ({ code }) => seen.errors.push(code);
  return { source, opened: () => opened, ...seen };
}

/** Starts a turn of anna's and leaves it; returns its session's path. */
async function start(settings: string): Promise<string> {
  const response = await h.app(
    new Request(`http://parley.test${sessionPath(agentId, null)}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ message: script(settings) }),
    }),
  );
  expect(response.status).toBe(201);
  await response.body?.cancel();
  return response.headers.get("location") ?? "";
}

const typesOf = ({ events }: Seen) => events.map(({ data }) => (data === "[DONE]" ? data : JSON.parse(data).type));
const deltas = (seen: Seen) => typesOf(seen).filter((type) => type === "text-delta").length;

describe("the package eventsource with a client token", () => {
  test("follows a turn over broken connections: each event once, in order, to [DONE]", async () => {
    const path = await start('text="one two three four" hangAfterChunks=3');
    const seen = follow(path);
    await eventually(() => deltas(seen) === 3);
    for (const connections of [2, 3]) {
      link.drop();
      await eventually(() => seen.opened() === connections);
    }
    const last = seen.events.at(-1)?.id;
    expect(seen.sent).toEqual([null, last as string, last as string]);
    expect((await t.call("POST", `${path}/cancel`, { body: {} })).status).toBe(202);
    await eventually(() => typesOf(seen).at(-1) === "[DONE]");
    const whole = await t.call("GET", `${path}/stream`, {
      token,
      headers: { "last-event-id": `${last?.split(":")[0]}:0` },
    });
    expect(typesOf(seen)).toEqual([
      "start",
      "start-step",
      "text-start",
      "text-delta",
      "text-delta",
      "text-delta",
      "abort",
      "[DONE]",
    ]);
    expect([whole.status, new Set(seen.events.map(({ id }) => id)).size]).toEqual([200, seen.events.length - 1]);
  });

  test("comes back to a turn that has ended meanwhile, and gets the rest of it", async () => {
    const path = await start('text="one two three" hangAfterChunks=2');
    const seen = follow(path);
    await eventually(() => deltas(seen) === 2);
    link.cut();
    expect((await t.call("POST", `${path}/cancel`, { body: { keep: "partial" } })).status).toBe(202);
    await eventually(async () => (await t.call("GET", path)).body.busy === false);
    link.heal();
    await eventually(() => typesOf(seen).at(-1) === "[DONE]");
    expect(deltas(seen)).toBe(2);
    expect(seen.source.readyState).toBe(EventSource.CLOSED);
  });

  test("has its connection at once when it comes back to a turn that says nothing", async () => {
    const path = await start('text="one two" hangAfterChunks=1');
    const seen = follow(path);
    await eventually(() => deltas(seen) === 1);
    const headers = { authorization: `Bearer ${token}`, "last-event-id": seen.events.at(-1)?.id ?? "" };
    const response = await fetch(`http://127.0.0.1:${service.port}${path}/stream`, { headers });
    const first = await response.body?.getReader().read();
    // Before the first ping, which comes after 10 s.
    expect(new TextDecoder().decode(first?.value)).toBe("retry: 500\n");
    seen.source.close();
  });

  test("stops where nothing runs (204), and where the token is not valid (401)", async () => {
    const path = await start('text="one"');
    await eventually(async () => (await t.call("GET", path)).body.busy === false);
    for (const [credential, status] of [
      [token, 204],
      [`${token.slice(0, -4)}0000`, 401],
    ] as const) {
      const seen = follow(path, credential);
      await eventually(() => seen.source.readyState === EventSource.CLOSED);
      expect([seen.errors, seen.sent.length, seen.events]).toEqual([[status], 1, []]);
    }
  });
});
