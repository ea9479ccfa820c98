import { describe, expect, test } from "bun:test";
import { makeClientToken } from "../harness/client-tokens.ts";
import { useAgent } from "../harness/fixture.ts";
import { makeAgent } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { play, script, sessionPath } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });
const page = "https://app.example.com";
const stranger = "https://evil.example.com";
const token = await makeClientToken(t, { agentId, origins: [page, "http://localhost:3000"] });
const sessions = sessionPath(agentId, null);

const preflight = (path: string, origin: string, method = "POST") =>
  t.call("OPTIONS", path, {
    token: null,
    headers: {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization,content-type",
    },
  });
const allowed = ({ headers }: { readonly headers: Headers }) => headers.get("access-control-allow-origin");
const listOf = (headers: Headers, name: string) => (headers.get(name) ?? "").toLowerCase().split(", ");

describe("a preflight", () => {
  test("is 204 for an origin of the agent's tokens, with what pages send; no other has an answer", async () => {
    for (const origin of [page, "http://localhost:3000"]) {
      const response = await preflight(sessions, origin);
      expect([response.status, response.body, allowed(response)]).toEqual([204, null, origin]);
      expect(listOf(response.headers, "vary")).toContain("origin");
      expect(listOf(response.headers, "access-control-allow-methods")).toEqual(["get", "post"]);
      for (const name of [
        "authorization",
        "content-type",
        "last-event-id",
        "api-form",
        "idempotency-key",
        "user-agent",
      ])
        expect(listOf(response.headers, "access-control-allow-headers")).toContain(name);
      expect(Number(response.headers.get("access-control-max-age"))).toBeGreaterThan(0);
      expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    }
    for (const origin of [
      stranger,
      `${page}:444`,
      "http://app.example.com",
      "null",
      `${page}.evil.example`,
      "x\u00ff",
    ]) {
      const response = await preflight(sessions, origin);
      expect([response.status, allowed(response)]).toEqual([405, null]);
    }
  });

  test("is for the agent in the path; a path without one, such as the turns', for every agent's origins", async () => {
    const other = await makeAgent(h, t);
    expect(allowed(await preflight(sessionPath(other, null), page))).toBeNull();
    expect(allowed(await preflight("/v1/turns", page, "GET"))).toBe(page);
    expect(allowed(await preflight("/v1/turns", stranger, "GET"))).toBeNull();
    expect(allowed(await preflight("/v1/nothing", page))).toBeNull();
    expect(allowed(await preflight("/healthz", page))).toBeNull();
  });

  test("405 method_not_allowed: any other OPTIONS, as it was", async () => {
    expect(statusAndCode(await t.call("OPTIONS", sessions))).toEqual([405, "method_not_allowed"]);
    const headers = { origin: page };
    expect(statusAndCode(await t.call("OPTIONS", sessions, { headers }))).toEqual([405, "method_not_allowed"]);
  });
});

describe("a response", () => {
  test("can be read by pages of the token's origins, streams and errors too, and by no other page", async () => {
    const body = { message: script('text="Hi"') };
    const made = await token.call("POST", sessions, { body, headers: { origin: page } });
    expect([made.status, allowed(made), made.headers.get("vary")]).toEqual([201, page, "Origin"]);
    for (const name of ["location", "x-turn-id", "x-request-id", "retry-after", "api-form"])
      expect(listOf(made.headers, "access-control-expose-headers")).toContain(name);
    const path = made.headers.get("location") ?? "";
    const reads = [
      `${path}/messages`,
      `${path}/stream`,
      `${sessions}/ss_${"0".repeat(24)}`,
      `${path}?surprise=1`,
      "/v1/agents",
      "/v1/nothing",
    ];
    for (const url of reads) {
      const mine = await token.call("GET", url, { headers: { origin: page } });
      expect([url, allowed(mine)]).toEqual([url, page]);
      const strange = await token.call("GET", url, { headers: { origin: stranger } });
      expect([url, strange.status, allowed(strange)]).toEqual([url, mine.status, null]);
      expect(allowed(await token.call("GET", url))).toBeNull();
    }
  });

  test("to an API key is for no page, whatever origins tokens have", async () => {
    expect(allowed(await t.call("GET", sessions, { headers: { origin: page } }))).toBeNull();
    expect(allowed(await t.call("GET", `${sessions}?surprise=1`, { headers: { origin: page } }))).toBeNull();
    expect(allowed(await t.call("GET", sessions, { token: null, headers: { origin: page } }))).toBeNull();
  });

  test("a page of one token's origin cannot use another token, which has none", async () => {
    const bare = await makeClientToken(t, { agentId });
    const response = await bare.call("GET", sessions, { headers: { origin: page } });
    expect([response.status, allowed(response)]).toEqual([200, null]);
  });

  test("a page can read that its token has ended", async () => {
    const origin = `https://${crypto.randomUUID()}.example.com`;
    const short = await makeClientToken(t, { agentId, origins: [origin] });
    await h.sql`update client_tokens set expires_at = now() where id = ${short.id}`;
    expect(allowed(await preflight(sessions, origin))).toBe(origin);
    const response = await short.call("GET", sessions, { headers: { origin } });
    expect([...statusAndCode(response), allowed(response)]).toEqual([401, "unauthorized", origin]);
    expect(allowed(await short.call("GET", sessions, { headers: { origin: stranger } }))).toBeNull();
  });
});

describe("?access_token=", () => {
  test("opens the stream of a session, and nothing else", async () => {
    const { sessionId } = await play(t, agentId, null, { message: script('text="Hi"'), userId: "anna" });
    const path = sessionPath(agentId, sessionId);
    const ask = (url: string, method = "GET") => t.call(method, url, { token: null, headers: { origin: page } });
    const joined = await ask(`${path}/stream?access_token=${token.token}`);
    expect([joined.status, allowed(joined)]).toEqual([204, page]);
    for (const url of [`${path}/messages`, path, sessions, "/v1/turns"])
      expect(statusAndCode(await ask(`${url}?access_token=${token.token}`))).toEqual([401, "unauthorized"]);
    for (const wrong of [t.token, "", "nonsense", `parleyc_${"0".repeat(40)}`])
      expect(statusAndCode(await ask(`${path}/stream?access_token=${wrong}`))).toEqual([401, "unauthorized"]);
    expect(statusAndCode(await token.call("GET", `${path}/stream?access_token=${token.token}`))).toEqual([
      400,
      "validation_failed",
    ]);
    expect(statusAndCode(await ask(`${path}/stream?access_token=${token.token}&surprise=1`))).toEqual([
      400,
      "validation_failed",
    ]);
  });
});
