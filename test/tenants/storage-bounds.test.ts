import { describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { form, skillMd, zip } from "../harness/archives.ts";
import { useTenant } from "../harness/fixture.ts";
import { makeAgent } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

const { h, t } = await useTenant();

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const many = (make: () => ReturnType<typeof t.call>) => Promise.all(numbers(1, 8).map(make));

describe("of many creations at once that reach the limit", () => {
  test("400 invalid_request: all but the one that makes the 1,000th workspace", async () => {
    await h.sql`insert into workspaces (id, tenant_id, name)
      select 'ws_' || lpad(n::text, 24, '0'), ${t.id}, 'n' from generate_series(1, 999) n`;
    const made = await many(() => t.call("POST", "/v1/workspaces", { body: {} }));
    expect(made.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(400)]);
    expect(made.filter(({ status }) => status === 400).map(statusAndCode)[0]).toEqual([400, "invalid_request"]);
    // One that is deleted makes room.
    expect((await t.call("DELETE", "/v1/workspaces/ws_000000000000000000000001")).status).toBeLessThan(300);
    expect((await t.call("POST", "/v1/workspaces", { body: {} })).status).toBe(201);
    expect((await t.call("POST", "/v1/workspaces", { body: {} })).status).toBe(400);
  });

  test("exactly one makes the 1,000th task", async () => {
    const other = await h.tenant();
    const agentId = await makeAgent(h, other);
    await h.sql`insert into tasks (id, tenant_id, agent_id, name, prompt)
      select 'tk_' || lpad(n::text, 24, '0'), ${other.id}, ${agentId}, 'n', 'p' from generate_series(1, 999) n`;
    const body = { agentId, name: "n", prompt: "p" };
    const made = await many(() => other.call("POST", "/v1/tasks", { body }));
    expect(made.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(400)]);
    expect((await other.call("DELETE", "/v1/tasks/tk_000000000000000000000001")).status).toBe(204);
    expect((await other.call("POST", "/v1/tasks", { body })).status).toBe(201);
    expect((await other.call("POST", "/v1/tasks", { body })).status).toBe(400);
  });
});

describe("the versions that are kept", () => {
  test("of an agent: the newest 100, and each older one that something is pinned to", async () => {
    const other = await h.tenant();
    const agentId = await makeAgent(h, other);
    await h.sql`insert into agent_versions (agent_id, version, tenant_id, config, created_at)
      select agent_id, n, tenant_id, config, created_at from agent_versions, generate_series(2, 99) n where agent_id = ${agentId}`;
    await h.sql`update agents set version = 99 where id = ${agentId}`;
    const version = async () =>
      (await other.call("PUT", `/v1/agents/${agentId}`, { body: { instructions: crypto.randomUUID() } })).body.version;
    const kept = async () => {
      const rows = await h.sql<{ version: number }[]>`
        select version from agent_versions where agent_id = ${agentId} order by version`;
      return rows.map((row) => row.version);
    };
    expect(await version()).toBe(100);
    expect(await kept()).toEqual(numbers(1, 100));
    const turn = newId("turn");
    const session = newId("session");
    await h.sql`insert into sessions (id, tenant_id, agent_id, visible, pinned_version)
      values (${session}, ${other.id}, ${agentId}, true, 1)`;
    await h.sql`insert into turns (id, tenant_id, agent_id, kind, status, agent_version, assistant_message_id)
      values (${turn}, ${other.id}, ${agentId}, 'generate', 'waiting', 2, '')`;
    await other.parley.tasks.create({ agentId, name: "n", prompt: "p", agentVersion: 3 });
    for (const _ of numbers(101, 105)) await version();
    expect(await kept()).toEqual([1, 2, 3, ...numbers(6, 105)]);
    expect((await other.call("GET", `/v1/agents/${agentId}/versions/5`)).status).toBe(404);
    // What was pinned goes with the next version after its pin is gone.
    await h.sql`update sessions set deleted_at = now() where id = ${session}`;
    await h.sql`update turns set status = 'canceled' where id = ${turn}`;
    await version();
    expect(await kept()).toEqual([3, ...numbers(7, 106)]);
  });

  test("of a library skill: the newest 100, with their files", async () => {
    const archive = () => form({ file: zip([{ name: "SKILL.md", data: skillMd() }]) });
    const { id } = (await t.call("POST", "/v1/skills", { body: archive() })).body;
    await h.sql`insert into library_skill_versions select skill_id, n, filename, meta, created_at
      from library_skill_versions, generate_series(2, 99) n where skill_id = ${id}`;
    await h.sql`insert into skill_files select skill_id, n, path, content from skill_files, generate_series(2, 99) n where skill_id = ${id}`;
    await h.sql`update library_skills set version = 99 where id = ${id}`;
    const kept = async () => {
      const [row] = await h.sql`
        select (select array_agg(version order by version) from library_skill_versions where skill_id = ${id}) as versions,
          (select array_agg(version order by version) from skill_files where skill_id = ${id}) as files`;
      return [row?.versions, row?.files];
    };
    const put = () => t.call("PUT", `/v1/skills/${id}`, { body: archive() });
    expect((await put()).status).toBe(200);
    expect(await kept()).toEqual([numbers(1, 100), numbers(1, 100)]);
    expect((await put()).status).toBe(200);
    expect(await kept()).toEqual([numbers(2, 101), numbers(2, 101)]);
    expect((await t.call("GET", `/v1/skills/${id}`)).body.files).toHaveLength(1);
  });
});
