import { describe, expect, test } from "bun:test";
import { createLink } from "../../src/console-server/store.ts";
import type { InstallationHealth } from "../../src/console-shapes/health.ts";
import { eventually } from "../harness/eventually.ts";
import { sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { userMessage } from "../harness/seed.ts";
import { stopProcess } from "../harness/service-process.ts";

const publicUrl = "https://console.example";

/** What a browser sends from the page that a proxy serves at `publicUrl`. */
const headers = { origin: publicUrl, "sec-fetch-site": "same-origin", "content-type": "application/json" };

describe.skipIf(sharedRedisUrl === null)("the console of several HTTP processes", () => {
  test("shares its sessions and links, streams, and keeps its cookie to https", async () => {
    await using installation = await startInstallation();
    const env = { CONSOLE: "1", PUBLIC_URL: publicUrl };
    const [one, other] = await Promise.all([installation.serve(env), installation.serve(env), installation.work()]);
    const at = ({ port }: { readonly port: number }) => `http://127.0.0.1:${port}/console/api`;
    const c = await installation.client(`http://127.0.0.1:${one.port}`);
    const signIn = (place: typeof one, body: object) =>
      fetch(`${at(place)}/login`, { method: "POST", headers, body: JSON.stringify(body) });

    const signedIn = await signIn(one, { apiKey: c.token });
    const [cookie = "", ...rules] = (signedIn.headers.get("set-cookie") ?? "").split("; ");
    expect(cookie).toStartWith("__Secure-parley_console=");
    expect(rules).toEqual([
      "HttpOnly",
      "SameSite=Strict",
      "Path=/console",
      expect.stringMatching(/^Max-Age=/),
      "Secure",
    ]);
    const { csrfToken } = (await signedIn.json()) as { csrfToken: string };
    const own = { ...headers, cookie, "x-csrf-token": csrfToken };
    expect((await fetch(`${at(other)}/session`, { headers: { cookie } })).status).toBe(200);

    const turn = await fetch(`${at(other)}/agents/${c.agentId}/sessions`, {
      method: "POST",
      headers: own,
      body: JSON.stringify({ message: userMessage("Hello!") }),
    });
    expect([turn.status, turn.headers.get("content-type")]).toEqual([201, "text/event-stream"]);
    expect((await turn.text()).trimEnd()).toEndWith("data: [DONE]");

    // A large body arrives whole, and one that is refused unread does not lose its response.
    const large = JSON.stringify({ name: "Large", template: "x".repeat(4 * 1024 * 1024) });
    const send = (csrf: string) =>
      fetch(`${at(one)}/prompts`, { method: "POST", headers: { ...own, "x-csrf-token": csrf }, body: large });
    const [read, refused] = [await send(csrfToken), await send("wrong")];
    expect([read.status, ((await read.json()) as { error: { code: string } }).error.code]).toEqual([
      400,
      "validation_failed",
    ]);
    expect([refused.status, ((await refused.json()) as { error: { code: string } }).error.code]).toEqual([
      403,
      "foreign_request",
    ]);

    const code = await createLink(installation.sql, c.tenantId, c.token);
    const uses = await Promise.all([one, other, one, other].map((place) => signIn(place, { code })));
    expect(uses.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);

    expect((await fetch(`${at(one)}/logout`, { method: "POST", headers: own })).status).toBe(204);
    for (const place of [one, other])
      expect((await fetch(`${at(place)}/agents`, { headers: { cookie } })).status).toBe(401);
  }, 120_000);

  test("shows an operator each of them, until it ends", async () => {
    await using installation = await startInstallation();
    const env = { CONSOLE: "1", OPERATOR_TOKEN: "operator-token-of-the-tests" };
    const [one, other] = await Promise.all([installation.serve(env), installation.serve(env), installation.work()]);
    const signedIn = await fetch(`${one.url}/console/api/login`, {
      method: "POST",
      headers: { origin: one.url, "content-type": "application/json" },
      body: JSON.stringify({ token: env.OPERATOR_TOKEN }),
    });
    const cookie = (signedIn.headers.get("set-cookie") ?? "").split(";", 1)[0] as string;
    const pids = async () => {
      const { httpProcesses } = (await (
        await fetch(`${one.url}/console/api/operator/health`, { headers: { cookie } })
      ).json()) as InstallationHealth;
      return httpProcesses.map(({ pid }) => pid).toSorted((a, b) => a - b);
    };
    const all = [one.pid, other.pid].toSorted((a, b) => a - b);
    await eventually(async () => Bun.deepEquals(await pids(), all));
    await stopProcess(other, 10);
    await eventually(async () => Bun.deepEquals(await pids(), [one.pid]));
  }, 120_000);

  test("logs a request once, and a reader that leaves its stream is gone", async () => {
    await using installation = await startInstallation();
    const [serve] = await Promise.all([installation.serve({ CONSOLE: "1" }), installation.work()]);
    const c = await installation.client(serve.url);
    const own = { origin: serve.url, "content-type": "application/json" };
    const signedIn = await fetch(`${serve.url}/console/api/login`, {
      method: "POST",
      headers: own,
      body: JSON.stringify({ apiKey: c.token }),
    });
    const cookie = (signedIn.headers.get("set-cookie") ?? "").split(";", 1)[0] as string;
    const { csrfToken } = (await signedIn.json()) as { csrfToken: string };
    const leave = new AbortController();
    const turn = await fetch(`${serve.url}/console/api/agents/${c.agentId}/sessions`, {
      method: "POST",
      headers: { ...own, cookie, "x-csrf-token": csrfToken },
      body: JSON.stringify({ message: userMessage("long [[sim: chunks=600 delayMs=50]]") }),
      signal: leave.signal,
    });
    await turn.body?.getReader().read();
    const followers = async () => {
      const text = await (await fetch(`${serve.url}/metrics`)).text();
      return Number(/^parley_followers_open(?:\{[^}]*\})? (\d+)$/m.exec(text)?.[1]);
    };
    expect(await followers()).toBe(1);
    // One line a request, by the operation's route; no line holds what signs in.
    const lines = await eventually(() => {
      const found = serve.log.filter(({ route }) => route === "/console/api/agents/:agentId/sessions");
      return found.length > 0 && found;
    });
    expect(lines).toMatchObject([{ method: "POST", status: 201, tenantId: c.tenantId }]);
    expect(serve.log.filter(({ route }) => String(route).startsWith("/v1/agents/:agentId/sessions"))).toEqual([]);
    const all = JSON.stringify(serve.log);
    for (const secret of [c.token, csrfToken, cookie.split("=")[1] as string]) expect(all).not.toContain(secret);
    leave.abort();
    await eventually(async () => (await followers()) === 0);
  }, 120_000);
});
