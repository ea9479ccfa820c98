/**
 * Opens each page of the console once in Firefox: it shows its heading, and nothing throws or is refused. Skipped
 * where Debian's `firefox-esr` is not installed.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { listen } from "../../src/kernel/runtime.ts";
import { ensureConsoleBuilt } from "../harness/console-build.ts";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { FirefoxWindow, hasFirefox } from "./firefox.ts";

setDefaultTimeout(300_000);
const { h, t } = await useTenant({ worker: true, env: { CONSOLE: "1" } });
const service = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
const base = `http://127.0.0.1:${service.port}/console`;
afterAll(() => service.stop(true));

describe.skipIf(!hasFirefox)("the console in Firefox", () => {
  test("shows every page, without an error in its log", async () => {
    await ensureConsoleBuilt();
    const agentId = await makeAgent(h, t, { name: "Ada", tools: ["workspace", "memory"] });
    for (const settings of ['text="Hello"', "fail=400"])
      await t.call("POST", `/v1/agents/${agentId}/sessions`, {
        body: { stream: false, userId: "eve", message: userMessage(`[[sim: ${settings}]]`) },
      });
    const { data: sessions } = await t.parley.sessions.list(agentId);
    const { data: turns } = await t.parley.turns.list({ agentId, status: "failed" });
    const budget = await t.parley.budgets.create({ name: "Budget", period: "day", limit: { turns: 9 } });
    const window = await FirefoxWindow.open();
    try {
      await window.goTo(`${base}/`);
      const body = JSON.stringify(JSON.stringify({ apiKey: t.token }));
      const headers = `{ "Content-Type": "application/json" }`;
      const signIn = `fetch("/console/api/login", { method: "POST", headers: ${headers}, body: ${body} }).then((said) => said.status)`;
      expect(await window.evaluate(signIn)).toBe(200);
      // Before the sign-in the page asks who is signed in, and is told 401.
      window.faults.length = 0;
      const pages = [
        ...["", "/approvals", "/sessions", "/turns", "/turns?order=longest", "/users", "/users?id=eve", "/usage"],
        ...["/audit", "/agents", "/agents/new", "/tasks", "/prompts", "/skills", "/memory", "/workspaces", "/chat"],
        ...["/connections", "/webhooks", "/providers", "/budgets", "/budgets/prices", "/billing", "/members", "/keys"],
        ...[`/agents/${agentId}`, `/agents/${agentId}/versions`, `/playground?agent=${agentId}`],
        ...[`/sessions/${agentId}/${sessions[0]?.id}`, `/turns/${turns[0]?.id}`, `/budgets/${budget.id}`],
      ];
      for (const page of pages) {
        await window.goTo(`${base}${page}`);
        const shown = `document.querySelector("h1")?.textContent !== undefined && document.querySelector(".loading") === null`;
        await eventually(async () => (await window.evaluate(shown)) === true);
        expect([page, await window.evaluate(`document.querySelector(".page") !== null`)]).toEqual([page, true]);
        expect([page, ...window.faults]).toEqual([page]);
      }
    } finally {
      await window.close();
    }
  });
});
