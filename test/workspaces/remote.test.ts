import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { missingForPrograms, startSandboxHost, useRuntime } from "../harness/command-runtimes.ts";
import { eventually } from "../harness/eventually.ts";
import { startRole } from "../harness/process.ts";
import { callTool, failure, filesOf, newScope, upload } from "../harness/workspace-scope.ts";

setDefaultTimeout(180_000);

const token = "the token of these tests";

describe("the role sandbox", () => {
  test("refuses to start without a token, and with a word that is none of its own", async () => {
    const without = startRole("sandbox", { PORT: "0" });
    expect(await without.ended()).toBe(1);
    expect(without.stderr()).toMatch(/^parley: SANDBOX_TOKEN must be set.*\n$/);
    const odd = startRole("work", { SANDBOX: "docker", DATABASE_URL: "postgres://x", REDIS_URL: "redis://x" });
    expect(await odd.ended()).toBe(1);
    expect(odd.stderr()).toMatch(/^parley: SANDBOX must be one of .*\n$/);
    const remote = startRole("work", { SANDBOX: "remote", SANDBOX_URL: "http://127.0.0.1:1" });
    expect(await remote.ended()).toBe(1);
    expect(remote.stderr()).toMatch(/^parley: SANDBOX=remote needs SANDBOX_URL and SANDBOX_TOKEN\.\n$/);
  });

  test.skipIf(missingForPrograms !== null)("takes nothing without its token, and tells of itself", async () => {
    const host = await startSandboxHost({ SANDBOX_TOKEN: token, METRICS_TOKEN: "a token for metrics" });
    try {
      for (const path of ["/commands", "/kept"]) {
        const ask = (headers: Record<string, string>) =>
          fetch(`${host.url}${path}`, { method: "POST", headers, body: "x" });
        expect((await ask({})).status).toBe(401);
        expect((await ask({ Authorization: "Bearer wrong" })).status).toBe(401);
        expect((await ask({ Authorization: `Bearer ${token}` })).status).toBe(400);
      }
      expect((await fetch(`${host.url}/healthz`)).status).toBe(200);
      expect((await fetch(`${host.url}/readyz`)).status).toBe(200);
      expect((await fetch(`${host.url}/v1/workspaces`)).status).toBe(404);
      expect((await fetch(`${host.url}/metrics`)).status).toBe(401);
      const metrics = await fetch(`${host.url}/metrics`, { headers: { Authorization: "Bearer a token for metrics" } });
      expect(await metrics.text()).toContain('parley_sandbox_places{state="free"} 4');
    } finally {
      await host.child.kill();
    }
  });
});

describe.skipIf(missingForPrograms !== null)("commands at hosts of sandboxes", () => {
  test("a wrong token fails at once, with a reason", async () => {
    const host = await startSandboxHost();
    const h = await useRuntime("remote", { env: { SANDBOX_URL: host.url, SANDBOX_TOKEN: token } });
    const scope = await newScope(h, await h.tenant());
    expect(await failure(callTool(scope, "bash", { command: "ls" }))).toContain("refuses SANDBOX_TOKEN");
    await host.child.kill();
  });

  test("hosts that are away fail a command within 45 s, come back, and one takes over for another", async () => {
    const first = await startSandboxHost({ SANDBOX_TOKEN: token });
    const second = await startSandboxHost({ SANDBOX_TOKEN: token });
    const urls = `${first.url},${second.url}`;
    const h = await useRuntime("remote", { env: { SANDBOX_URL: urls, SANDBOX_TOKEN: token } });
    const t = await h.tenant();
    const scopes = await Promise.all([1, 2, 3, 4, 5, 6].map(() => newScope(h, t)));
    const bash = (scope: (typeof scopes)[number], command: string) => callTool(scope, "bash", { command });
    for (const scope of scopes) await upload(t, scope, "a", "A");
    for (const scope of scopes) expect((await bash(scope, "cat a; echo B > b")).stdout).toBe("A");
    await first.child.kill();
    for (const scope of scopes) expect((await bash(scope, "cat a b; echo C > c")).stdout).toBe("AB\n");
    await second.child.kill();
    const [scope] = scopes as [(typeof scopes)[number]];
    const startedAtMs = performance.now();
    const away = await t.call("POST", `/v1/workspaces/${scope.workspaceId}/commands`, { body: { command: "ls" } });
    expect([away.status, away.body.error.message]).toEqual([503, expect.stringContaining("No host of sandboxes")]);
    expect(performance.now() - startedAtMs).toBeLessThan(45_000);
    const port = new URL(second.url).port;
    const back = bash(scope, "cat a b c");
    const again = await startSandboxHost({ SANDBOX_TOKEN: token, PORT: port });
    expect((await back).stdout).toBe("AB\nC\n");
    await again.child.kill();
  });

  test("a host that is killed under a command: nothing is kept, no program stays, the model is told", async () => {
    const host = await startSandboxHost({ SANDBOX_TOKEN: token });
    const h = await useRuntime("remote", { env: { SANDBOX_URL: host.url, SANDBOX_TOKEN: token } });
    const scope = await newScope(h, await h.tenant());
    const mark = `54321.${process.pid}`;
    const running = failure(callTool(scope, "bash", { command: `echo x > x; sleep ${mark} & sleep ${mark}` }));
    await eventually(() => sleeping(mark));
    await host.child.kill();
    expect(await running).toBe("The host of the command was lost; nothing was kept.");
    await eventually(() => !sleeping(mark));
    expect(await filesOf(scope)).toEqual({});
  });

  test("a host that stops finishes its commands, and takes no new ones", async () => {
    const host = await startSandboxHost({ SANDBOX_TOKEN: token });
    const h = await useRuntime("remote", { env: { SANDBOX_URL: host.url, SANDBOX_TOKEN: token } });
    const scope = await newScope(h, await h.tenant());
    const mark = `3.${process.pid}`;
    const running = callTool(scope, "bash", { command: `sleep ${mark}; echo done > done; echo finished` });
    await eventually(() => sleeping(mark));
    host.child.process.kill("SIGTERM");
    expect((await running).stdout).toBe("finished\n");
    expect(await host.child.ended()).toBe(0);
    expect(await filesOf(scope)).toEqual({ done: "done\n" });
  });

  test("files of a whole workspace go to a host and come back", async () => {
    const host = await startSandboxHost({ SANDBOX_TOKEN: token });
    const h = await useRuntime("remote", { env: { SANDBOX_URL: host.url, SANDBOX_TOKEN: token } });
    const scope = await newScope(h, await h.tenant());
    await h.sql`
      insert into workspace_files (workspace_id, path, content, size)
      select ${scope.workspaceId}, 'd' || n % 10 || '/f' || n, convert_to(repeat('x', 50000), 'UTF8'), 50000 from generate_series(1, 1000) n`;
    const changed = await callTool(scope, "bash", {
      command: "cat d*/f* | wc -c; for f in d1/*; do echo y >> $f; done",
    });
    expect(changed).toEqual({ exitCode: 0, stdout: "50000000\n", stderr: "" });
    const [grown] = await h.sql`
      select count(*)::int as count from workspace_files where workspace_id = ${scope.workspaceId} and size = 50002`;
    expect(grown?.count).toBe(100);
    await host.child.kill();
  });
});

/** Whether a program with this word runs on this machine. */
function sleeping(mark: string): boolean {
  return readdirSync("/proc").some((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "latin1").startsWith(`sleep\0${mark}`);
    } catch {
      return false;
    }
  });
}
