import { expect, test } from "bun:test";
import { createApp } from "../../../src/app.ts";
import { RequestSlots } from "../../../src/kernel/admission/request-slots.ts";
import { createOperatorApp } from "../../../src/kernel/http/operator-app.ts";
import type { IdOf } from "../../../src/kernel/ids.ts";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { makeClientToken } from "../../harness/client-tokens.ts";
import { useAgent } from "../../harness/fixture.ts";

const { h, t, agentId } = await useAgent();

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly requestId?: string;
  readonly [field: string]: unknown;
}

/** An HTTP process whose log is read. */
function logging(create = createApp) {
  const lines: Line[] = [];
  const log = createLogger("debug", { write: (line) => void lines.push(JSON.parse(line)) });
  const app = create({ ...h.ctx, log });
  /** The lines that a request leaves, which are one. */
  const lineOf = async (
    method: string,
    path: string,
    init: { headers?: Record<string, string>; body?: string } = {},
  ) => {
    const headers = { authorization: `Bearer ${t.token}`, "content-type": "application/json", ...init.headers };
    const response = await app(new Request(`http://parley.test${path}`, { method, ...init, headers }));
    await response.body?.cancel();
    const requestId = response.headers.get("x-request-id");
    const own = lines.filter((line) => line.msg === "request" && (line.requestId === requestId || requestId === null));
    expect(own).toHaveLength(1);
    const { level, route, status, code, method: said } = own[0] as Line;
    expect(said).toBe(method);
    return [level, route, status, code];
  };
  return { lines, lineOf, app };
}

test("each request leaves one line, the refused ones too", async () => {
  const { lineOf } = logging();
  const agents = "/v1/agents";
  expect(await lineOf("GET", agents)).toEqual(["debug", agents, 200, undefined]);
  expect(await lineOf("GET", `${agents}/${agentId}`)).toEqual(["debug", `${agents}/:agentId`, 200, undefined]);
  const name = JSON.stringify({ name: "logged" });
  expect(await lineOf("POST", agents, { body: name })).toEqual(["info", agents, 201, undefined]);
  expect(await lineOf("POST", agents, { body: "{" })).toEqual(["info", agents, 400, "validation_failed"]);
  expect(await lineOf("POST", agents, { body: "{", headers: { "api-form": "a" } })).toEqual([
    "info",
    agents,
    400,
    "invalid_request",
  ]);
  expect(await lineOf("GET", agents, { headers: { authorization: "Bearer x" } })).toEqual([
    "info",
    agents,
    401,
    "unauthorized",
  ]);
  expect(await lineOf("GET", "/v1/nothing?token=secret")).toEqual(["info", "unmatched", 404, "not_found"]);
  expect(await lineOf("PUT", agents)).toEqual(["info", "unmatched", 405, "method_not_allowed"]);
  const large = { body: "x".repeat(9 * 1024 * 1024) };
  expect(await lineOf("POST", agents, large)).toEqual(["info", agents, 413, "payload_too_large"]);
  expect(await lineOf("GET", agents, { headers: { host: "no host" } })).toEqual([
    "info",
    "unmatched",
    400,
    "validation_failed",
  ]);
  await h.sql`update tenants set rate_limit = 0 where id = ${t.id}`;
  expect(await lineOf("GET", agents)).toEqual(["info", agents, 429, "rate_limited"]);
  await h.sql`update tenants set rate_limit = null where id = ${t.id}`;
});

test("a client token is in no line, in the URL of a stream either", async () => {
  const { app, lines } = logging();
  const { token } = await makeClientToken(t, { agentId });
  const stream = `http://parley.test/v1/agents/${agentId}/sessions/ss_${"0".repeat(24)}/stream`;
  const statuses = [];
  for (const query of [`access_token=${token}`, `surprise=1&access_token=${token}`, `access_token=${token}x`])
    statuses.push((await app(new Request(`${stream}?${query}`))).status);
  expect(statuses).toEqual([404, 400, 401]);
  expect(lines).toHaveLength(3);
  expect(JSON.stringify(lines)).not.toContain(token);
});

test("what monitors ask is quiet", async () => {
  const { lineOf } = logging();
  for (const path of ["/healthz", "/readyz", "/metrics"])
    expect(await lineOf("GET", path)).toEqual(["debug", path, 200, undefined]);
  const worker = logging((ctx) => createOperatorApp(ctx));
  expect(await worker.lineOf("GET", "/readyz")).toEqual(["debug", "/readyz", 200, undefined]);
});

test("what is refused on the paths of monitors is not quiet", async () => {
  const { lineOf } = logging();
  const refused = ["info", "unmatched", 405, "method_not_allowed"];
  expect(await lineOf("POST", "/healthz")).toEqual(refused);
  expect(await lineOf("PUT", "/readyz")).toEqual(refused);
  expect(await lineOf("POST", "/metrics")).toEqual(refused);
});

test("a request beyond those that a tenant may have in flight is logged with its tenant", async () => {
  const slots = new RequestSlots({
    requestsInFlightMax: 1,
    requestWaitMs: 1,
    requestsWaitingMax: 1,
    streamsOpenMax: 1,
  });
  const { lines, app } = logging((ctx) => createApp({ ...ctx, slots }));
  const request = () =>
    new Request("http://parley.test/v1/agents", { headers: { authorization: `Bearer ${t.token}` } });
  const holder = request();
  await slots.begin(holder);
  // The first is refused at once; of the second, it is known only later whose it is.
  await slots.identify(holder, { id: t.id as IdOf<"tenant">, form: "b" });
  for (const credential of [`Bearer ${t.token}`, `bearer ${t.token}`]) {
    const headers = { authorization: credential };
    const response = await app(new Request("http://parley.test/v1/agents", { headers }));
    expect(response.status).toBe(429);
  }
  slots.leave(holder);
  expect((await app(request())).status).toBe(200);
  const said = lines
    .filter(({ msg }) => msg === "request")
    .map(({ level, status, tenantId }) => [level, status, tenantId]);
  expect(said).toEqual([
    ["info", 429, t.id],
    ["info", 429, t.id],
    ["debug", 200, t.id],
  ]);
});

test("a client that goes away in the middle of its body leaves that line, and no error", async () => {
  const { lines } = logging();
  const log = createLogger("debug", { write: (line) => void lines.push(JSON.parse(line)) });
  const app = createApp({ ...h.ctx, log });
  const body = new ReadableStream({
    pull: () => {
      throw new DOMException("The connection was closed.", "AbortError");
    },
  });
  const headers = { authorization: `Bearer ${t.token}`, "content-type": "application/json" };
  const response = await app(new Request("http://parley.test/v1/agents", { method: "POST", headers, body }));
  expect(response.status).toBe(400);
  expect(lines.map(({ level, msg, status }) => [level, msg, status])).toEqual([["info", "request", 400]]);
});
