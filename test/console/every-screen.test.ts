import { describe, expect, test } from "bun:test";
import { hasBrowser, useConsole } from "../harness/console-browser.ts";
import type { ConsoleVisit } from "../harness/console-visit.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";

const { h, t, operatorToken, visit, signedIn } = await useConsole();
/** HTML, and a word that breaks nowhere by itself. */
const hostile = `<img src=x onerror="alert(1)">${"x".repeat(45)}`;
const agentId = await makeAgent(h, t, { name: hostile, tools: ["workspace", "memory"], instructions: hostile });
const task = await t.parley.tasks.create({
  ...{ agentId, name: hostile, prompt: hostile },
  schedule: { kind: "interval", config: { everyMs: 3_600_000 } },
});
const content = `---\nname: evil\ndescription: ${JSON.stringify(hostile)}\n---\n${hostile}\n`;
await t.parley.skills.create(agentId, { path: "SKILL.md", content });
await t.parley.memories.create(agentId, { text: hostile, userId: hostile });
await t.parley.webhooks.create({
  url: `https://shop.example/${"x".repeat(60)}`,
  description: hostile,
  enabled: false,
  events: ["turn.ended"],
});
await t.parley.apiKeys.create({ name: hostile });
for (const settings of [`text=${JSON.stringify(hostile)}`, "fail=401"])
  await t.call("POST", `/v1/agents/${agentId}/sessions`, {
    body: { stream: false, userId: hostile, message: userMessage(`[[sim: ${settings}]]`) },
  });

/** A phone, a small laptop with the menu beside the screen, and a wall. */
const widths = [360, 1_024, 3_840];
const schemes = ["light", "dark"] as const;

/** What is wrong with a screen at each width, the schemes in turn. */
async function wrongsOf(person: ConsoleVisit, path: string): Promise<string[]> {
  const found: string[] = [];
  await person.open(path);
  await person.page.getByRole("heading", { level: 1 }).waitFor();
  await eventually(async () => (await person.page.getByText("Loading…").count()) === 0);
  for (const [at, width] of widths.entries()) {
    await person.page.setViewportSize({ width, height: 800 });
    await person.page.emulateMedia({ colorScheme: schemes[at % schemes.length] ?? null });
    found.push(...(await person.wrongs()).map((wrong) => `${path} at ${width}: ${wrong}`));
  }
  return found;
}

describe.skipIf(!hasBrowser)("every screen, at every width, with names that mean harm", () => {
  test("of a tenant", async () => {
    const [session] = (await t.parley.sessions.list(agentId)).data;
    const [turn] = (await t.parley.turns.list({ agentId })).data;
    const [skill] = (await t.parley.skills.list(agentId)).data;
    const [hook] = (await t.parley.webhooks.list()).data;
    const [provider] = (await t.parley.providers.list()).providers;
    const [workspace] = (await t.parley.workspaces.list()).data;
    const budget = await t.parley.budgets.create({
      name: "Budget",
      userId: "eve",
      period: "day",
      limit: { usd: "1.5" },
    });
    await t.parley.prompts.create({ name: "Greeting", template: `Greet {{name}}. ${hostile}` });
    const [failed] = (await t.parley.turns.list({ agentId, status: "failed" })).data;
    const person = await signedIn();
    const paths = [
      ...[
        "",
        "/approvals",
        "/sessions",
        "/turns",
        "/usage",
        "/audit",
        "/agents",
        "/agents/new",
        "/tasks",
        "/tasks/new",
      ],
      ...[
        "/skills",
        "/chat",
        "/connections",
        "/webhooks",
        "/providers",
        "/billing",
        "/users",
        "/prompts",
        "/budgets",
        "/budgets/prices",
        "/keys",
        "/nothing",
      ],
      ...[`/playground?agent=${agentId}&session=${session?.id}`, `/playground?agent=${agentId}&compare=1`],
      ...[`/sessions/${agentId}/${session?.id}`, `/turns/${turn?.id}`, `/agents/${agentId}`],
      ...[`/tasks/${task.task.id}`, `/skills/${agentId}/${skill?.id}`, `/memory?agentId=${agentId}`],
      ...[`/webhooks/${hook?.id}`, `/providers/${provider?.id}`, "/workspaces", `/workspaces/${workspace?.id}`],
      ...[`/budgets/${budget.id}`, `/users?id=${encodeURIComponent(hostile)}`, `/turns/${failed?.id}`],
      ...[`/agents/${agentId}/activity`, `/agents/${agentId}/versions`],
    ];
    const found: string[] = [];
    for (const path of paths) found.push(...(await wrongsOf(person, path)));
    expect(found).toEqual([]);
  }, 240_000);

  test("of an operator", async () => {
    const person = await visit();
    await person.open("");
    await person.signIn(operatorToken);
    const found: string[] = [];
    for (const path of ["", "/workers", "/dead-letters", "/tenants", `/tenants/${t.id}`])
      found.push(...(await wrongsOf(person, `/operator${path}`)));
    expect(found).toEqual([]);
  });
});
