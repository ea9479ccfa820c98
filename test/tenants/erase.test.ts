import { expect, test } from "bun:test";
import { deleteTenant } from "../../src/tenants/purge.ts";
import { form, skillMd, zip } from "../harness/archives.ts";
import { useChat } from "../harness/chat-fixture.ts";
import { eventually, type TestTenant } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { tablesWith } from "../harness/traces.ts";
import { play, script } from "../harness/turns.ts";
import { workspaceCalls } from "../harness/workspace-calls.ts";

const fixture = await useChat();
const { h } = fixture;

/** A text that occurs nowhere else. */
const unique = () => `zebra${crypto.randomUUID().replaceAll("-", "")}`;
const gone = (text: string) => eventually(async () => (await tablesWith(h.sql, text)).length === 0, 60_000);
const says = (text: string) => `[[sim: text="${text}"]]`;

/** Makes one of everything that holds a tenant's words; returns the workspace, the task and the library skill. */
async function fill(t: TestTenant, agentId: string, text: string) {
  const workspace = workspaceCalls(h, t);
  const workspaceId = await workspace.create(t, { name: text, metadata: { about: text } });
  expect((await workspace.put(workspaceId, `${text}.txt`, `in a file: ${text}`)).status).toBeLessThan(300);
  await t.parley.prompts.create({ name: text, template: text });
  const markdown = skillMd("Tea", text, `metadata:\n  about: ${text}\n`);
  const skill = await t.call("POST", "/v1/skills", {
    body: form({ file: zip([{ name: "SKILL.md", data: markdown }]) }),
  });
  expect(skill.status).toBe(201);
  const own = { path: "SKILL.md", content: skillMd("Own", text) };
  expect((await t.call("POST", `/v1/agents/${agentId}/skills`, { body: own })).status).toBe(201);
  await t.call("POST", `/v1/agents/${agentId}/memories`, { body: { text } });
  const { task } = await t.parley.tasks.create({ agentId, name: text, prompt: says(text), metadata: { about: text } });
  await t.parley.taskRuns.start(task.id);
  await eventually(async () => (await t.call("GET", `/v1/tasks/${task.id}/runs`)).body.data[0].status === "succeeded");
  await play(t, agentId, null, { message: userMessage(says(text)), metadata: { about: text } });
  const connection = await fixture.connectSlack(t, agentId);
  await fixture.inThread(await fixture.mention(connection, says(text)), 1);
  return { workspaceId, taskId: task.id, skillId: skill.body.id as string, connectionId: connection.id };
}

test("a deleted tenant leaves no word; another tenant keeps all of it", async () => {
  const [text, other] = [unique(), unique()];
  const mine = await h.tenant({ name: text });
  const theirs = await h.tenant({ name: other });
  for (const [t, words] of [
    [mine, text],
    [theirs, other],
  ] as const) {
    await fill(t, await makeAgent(h, t, { name: words, instructions: words, metadata: { about: words } }), words);
  }
  const before = await tablesWith(h.sql, text);
  expect(before.length).toBeGreaterThan(15);
  expect(await deleteTenant(h.sql, mine.id)).toBe("ended");
  await gone(text);
  expect((await tablesWith(h.sql, other)).sort()).toEqual(before.sort());
  const [usage] = await h.sql`select count(*)::int as turns from usage where tenant_id = ${mine.id}`;
  expect(usage?.turns).toBe(3);
}, 180_000);

test("a deleted workspace, task, library skill and chat connection leave no word of theirs", async () => {
  const t = await h.tenant();
  const agentId = await makeAgent(h, t);
  const text = unique();
  const made = await fill(t, agentId, text);
  for (const path of [
    `/v1/workspaces/${made.workspaceId}`,
    `/v1/tasks/${made.taskId}`,
    `/v1/skills/${made.skillId}`,
    `/v1/chat-connections/${made.connectionId}`,
  ]) {
    expect((await t.call("DELETE", path)).status).toBeLessThan(300);
    expect((await t.call("GET", path)).status).toBe(404);
  }
  const theirs = /workspace|task|library_skill|chat_/;
  await eventually(async () => !(await tablesWith(h.sql, text)).some((name) => theirs.test(name)));
  await eventually(async () => {
    const rows = await h.sql`select 1 from chat_connections where id = ${made.connectionId}
      union all select 1 from tasks where id = ${made.taskId} union all select 1 from task_runs where task_id = ${made.taskId}`;
    return rows.length === 0;
  });
  // The sessions of the task and the chat are ordinary ones, and stay until they are deleted.
  expect(await tablesWith(h.sql, text)).toContain("public.messages");
}, 120_000);

test("the bot of a deleted connection can be connected at once", async () => {
  const { t, agentId } = await fixture.tenant();
  const bot = fixture.slack.install();
  const first = await fixture.connectSlack(t, agentId, bot);
  expect((await t.call("DELETE", `/v1/chat-connections/${first.id}`)).status).toBe(204);
  const second = await fixture.connectSlack(t, agentId, bot);
  await eventually(async () => (await h.sql`select 1 from chat_connections where id = ${first.id}`).length === 0);
  await fixture.inThread(await fixture.mention(second, says("still there")), 1);
});

test("a tenant whose turn waits for a person is erased too", async () => {
  const text = unique();
  const { t, agentId } = await fixture.tenant();
  await play(t, agentId, null, { message: script(`tool=memory_save args={"text":"${text}"}`) });
  expect(await tablesWith(h.sql, text)).toContain("public.approvals");
  expect(await deleteTenant(h.sql, t.id)).toBe("ended");
  await gone(text);
}, 120_000);
