import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../harness/free-port.ts";
import { cloneDatabase, dropDatabase, eventually } from "../harness/harness.ts";
import { type Child, startProcess, startRole } from "../harness/process.ts";
import { sampleOf } from "../harness/prometheus.ts";
import { denoCommand } from "../harness/runtimes.ts";

let home: string;
const children: Child[] = [];
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-start-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
});
afterAll(() => rm(home, { recursive: true, force: true }));

interface Banner {
  readonly url: string;
  readonly token: string;
  readonly agentId: string;
  readonly curl: string;
}

function launch(env: Record<string, string> = {}): Child {
  const child = startRole("start", { PARLEY_HOME: home, PORT: "0", DRAIN_SECONDS: "5", ...env });
  children.push(child);
  return child;
}

async function readBanner(child: Child): Promise<Banner> {
  await child.prints(/Ctrl-C stops it/);
  const find = (pattern: RegExp) => (pattern.exec(child.stdout()) as RegExpExecArray)[1] as string;
  return {
    url: find(/URL +(\S+)/),
    token: find(/API key +(parley_[A-Za-z0-9]{40})/),
    agentId: find(/Agent +(ag_[0-9a-z]{24})/),
    curl: find(/^(curl .*)$/m),
  };
}

function ask(banner: Banner, text: string): Promise<Response> {
  const message = { id: "m1", role: "user", parts: [{ type: "text", text }] };
  return fetch(`${banner.url}/v1/agents/${banner.agentId}/sessions`, {
    method: "POST",
    headers: { authorization: `Bearer ${banner.token}`, "content-type": "application/json" },
    body: JSON.stringify({ message }),
  });
}

/** Opens the printed link as a browser does. */
async function signsInOnce(child: Child, { url }: Banner): Promise<void> {
  const [, link = "", code] = /Console +(\S+\/console)#(\S+) \(signs in once/.exec(child.stdout()) ?? [];
  expect(link).toBe(`${url}/console`);
  const page = await fetch(url);
  expect([page.url, page.status, page.headers.get("content-type")]).toEqual([link, 200, "text/html; charset=utf-8"]);
  const use = async () => {
    const headers = { origin: url, "content-type": "application/json" };
    const response = await fetch(`${link}/api/login`, { method: "POST", headers, body: JSON.stringify({ code }) });
    return [response.status, ((await response.json()) as { principal?: { tenantName: string } }).principal?.tenantName];
  };
  expect([await use(), await use()]).toEqual([
    [200, "Demo"],
    [401, undefined],
  ]);
}

/** The Postgres servers that run on this home. */
function serversOf(folder: string): string[] {
  return spawnSync("ps", ["-A", "-o", "args="])
    .stdout.toString()
    .split("\n")
    .filter((line) => line.includes(`-D ${folder}/`));
}

describe("npm start", () => {
  test("with no configuration: the printed line streams an answer; a restart keeps key and agent", async () => {
    const first = launch();
    const banner = await readBanner(first);
    const streamed = spawnSync("sh", ["-c", banner.curl]).stdout.toString();
    expect(streamed).toContain('"type":"text-delta"');
    expect(streamed.trimEnd()).toEndWith("data: [DONE]");
    await eventually(async () => (await fetch(`${banner.url}/readyz`)).status === 200);
    await signsInOnce(first, banner);
    // The turn's reader has its last word a moment before the worker has done with it.
    await eventually(
      async () => sampleOf(await (await fetch(`${banner.url}/metrics`)).text(), "parley_sessions_held") === 0,
    );
    expect((await stat(join(home, "demo.json"))).mode & 0o077).toBe(0);
    expect((await stat(join(home, "encryption-key"))).mode & 0o077).toBe(0);
    expect((await stat(join(home, "running.json"))).mode & 0o077).toBe(0);
    first.process.kill("SIGTERM");
    expect(await first.ended()).toBe(0);
    expect([first.stdout().split("\n").at(-2), first.stderr()]).toEqual(["Stopping.", ""]);
    expect(serversOf(home)).toEqual([]);

    const second = launch();
    const again = await readBanner(second);
    expect([again.token, again.agentId]).toEqual([banner.token, banner.agentId]);
    expect(await (await ask(again, "Hello again!")).text()).toContain("[DONE]");
  }, 120_000);

  test("after kill -9 it starts again with the same key, and leaves no Postgres behind", async () => {
    const first = launch();
    const banner = await readBanner(first);
    await first.kill();
    const second = launch();
    const again = await readBanner(second);
    expect([again.token, again.agentId]).toEqual([banner.token, banner.agentId]);
    expect(await (await ask(again, "Hello!")).text()).toContain("[DONE]");
    second.process.kill("SIGINT");
    expect(await second.ended()).toBe(0);
    await eventually(() => serversOf(home).length === 0);
  }, 120_000);

  test("a taken port: one line that names PORT, exit 1, nothing left running", async () => {
    const server = createServer().listen(await freePort(), "127.0.0.1");
    await eventually(() => server.listening);
    const { port } = server.address() as { port: number };
    const child = launch({ PORT: String(port) });
    expect(await child.ended()).toBe(1);
    expect(child.stderr()).toMatch(new RegExp(`^parley: Port ${port} [^\\n]*PORT[^\\n]*\\n$`));
    expect(serversOf(home)).toEqual([]);
    server.close();
  }, 120_000);

  test("a second start on the same home: one line that names the first, exit 1", async () => {
    const first = launch();
    await readBanner(first);
    const second = launch();
    expect(await second.ended()).toBe(1);
    expect(second.stderr()).toMatch(/^parley: Another instance is using [^\n]+\(pid \d+\)[^\n]*\n$/);
    expect(second.stderr()).toContain(`(pid ${first.process.pid})`);
  }, 120_000);

  test("SIGTERM lets a running stream finish, takes nothing new, and exits 0; a second one ends at once", async () => {
    const child = launch({ DRAIN_SECONDS: "30" });
    const banner = await readBanner(child);
    const response = await ask(banner, "[[sim: chunks=80 size=800 delayMs=50]]");
    let streamed = "";
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      const running = streamed.includes("text-delta");
      streamed += new TextDecoder().decode(chunk);
      if (running || !streamed.includes("text-delta")) continue;
      child.process.kill("SIGTERM");
      await eventually(() =>
        fetch(`${banner.url}/healthz`).then(
          () => false,
          () => true,
        ),
      );
    }
    expect(streamed).toEndWith("data: [DONE]\n\n");
    expect(await child.ended()).toBe(0);
    expect(child.stdout()).toEndWith("Draining: 1 turn, up to 30 s. Ctrl-C again stops at once.\n");

    const hasty = launch({ DRAIN_SECONDS: "60" });
    const hanging = await ask(await readBanner(hasty), "[[sim: hangAfterChunks=1 size=10 chunks=2]]");
    const reader = (hanging.body as ReadableStream<Uint8Array>).getReader();
    for (let seen = ""; !seen.includes("text-delta"); ) seen += new TextDecoder().decode((await reader.read()).value);
    hasty.process.kill("SIGTERM");
    await eventually(() => {
      hasty.process.kill("SIGTERM");
      return hasty.process.exitCode !== null || hasty.process.signalCode !== null;
    });
    expect(await hasty.ended()).toBe(130);
    await eventually(() => serversOf(home).length === 0);
  }, 120_000);

  test("what the operator deleted of the demo is made anew", async () => {
    const first = launch();
    const banner = await readBanner(first);
    const { tenantId } = JSON.parse(await readFile(join(home, "demo.json"), "utf8"));
    const headers = { authorization: `Bearer ${banner.token}` };
    const keys = (await (await fetch(`${banner.url}/v1/apikeys`, { headers })).json()) as {
      apiKeys: { id: string }[];
    };
    await fetch(`${banner.url}/v1/agents/${banner.agentId}`, { method: "DELETE", headers });
    await fetch(`${banner.url}/v1/apikeys/${keys.apiKeys[0]?.id}`, { method: "DELETE", headers });
    first.process.kill("SIGTERM");
    await first.ended();

    const second = launch();
    const renewed = await readBanner(second);
    expect(renewed.token).not.toBe(banner.token);
    expect(renewed.agentId).not.toBe(banner.agentId);
    const deleting = startRole("tenant", { PARLEY_HOME: home }, ["delete", "--tenant", tenantId]);
    children.push(deleting);
    expect(await deleting.ended()).toBe(0);
    second.process.kill("SIGTERM");
    await second.ended();

    const third = await readBanner(launch());
    expect(third.token).not.toBe(renewed.token);
    expect(await (await ask(third, "Hello!")).text()).toContain("[DONE]");
  }, 120_000);

  test("DATABASE_URL and REDIS_URL replace the embedded parts; each database has a demo of its own, kept too", async () => {
    const databaseUrl = await cloneDatabase();
    const redisUrl = process.env.PARLEY_TEST_REDIS_URL ?? "";
    const elsewhere = await mkdtemp(join(tmpdir(), "parley-start-"));
    const env = { PARLEY_HOME: elsewhere, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
    const first = launch(env);
    const banner = await readBanner(first);
    expect(await (await ask(banner, "Hello!")).text()).toContain("[DONE]");
    expect((await readdir(elsewhere)).filter((name) => name.startsWith("postgres"))).toEqual([]);
    first.process.kill("SIGTERM");
    expect([await first.ended(), first.stderr()]).toEqual([0, ""]);
    expect((await readBanner(launch(env))).token).toBe(banner.token);
    for (const child of children.splice(0)) await child.kill();
    await dropDatabase(databaseUrl);
    await rm(elsewhere, { recursive: true, force: true });
  }, 120_000);

  test("the same source runs on Deno, on the same home", async () => {
    const bun = launch();
    const banner = await readBanner(bun);
    bun.process.kill("SIGTERM");
    expect(await bun.ended()).toBe(0);
    const { program, words } = denoCommand("start");
    const deno = startProcess(program, words, { PARLEY_HOME: home, PORT: "0", NO_COLOR: "1" });
    children.push(deno);
    const again = await readBanner(deno);
    expect([again.token, again.agentId]).toEqual([banner.token, banner.agentId]);
    const events = await (await ask(again, "Hello!")).text();
    expect(events.trimEnd()).toEndWith("data: [DONE]");
    deno.process.kill("SIGTERM");
    expect(await deno.ended()).toBe(0);
    expect(deno.stderr()).not.toMatch(/error|parley:/i);
    await eventually(() => serversOf(home).length === 0);
  }, 120_000);

  test.each([
    ["npm start", "npm", ["start"]],
    ["deno task start", "node_modules/.bin/deno", ["task", "start"]],
  ])(
    "%s passes SIGTERM on, and its own death ends the service",
    async (_, program, words) => {
      const env = { PARLEY_HOME: home, PORT: "0", DRAIN_SECONDS: "5" };
      const child = startProcess(program, words, env);
      children.push(child);
      await readBanner(child);
      child.process.kill("SIGTERM");
      await child.ended();
      await eventually(() => serversOf(home).length === 0);

      const orphaned = startProcess(program, words, env);
      children.push(orphaned);
      await readBanner(orphaned);
      orphaned.process.kill("SIGKILL");
      await eventually(() => serversOf(home).length === 0);
    },
    120_000,
  );

  test("npx passes no SIGTERM on; its shell's end is the service's", async () => {
    const env = { PARLEY_HOME: home, PORT: "0", DRAIN_SECONDS: "5" };
    const child = startProcess("npx", ["bun", "src/main.ts", "start"], env);
    children.push(child);
    await readBanner(child);
    child.process.kill("SIGTERM");
    await eventually(() => serversOf(home).length === 0);
  }, 120_000);
});
