import { describe, expect, test } from "bun:test";
import { createManagedAgent } from "../../src/agents/managed.ts";
import { agentDraftsKept } from "../../src/agents/schema.ts";
import { useAgent } from "../harness/fixture.ts";
import { makeAgent } from "../harness/seed.ts";
import { play, requestsOf, script } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true, agent: { instructions: "Be kind." } });
const draft = (id: string, body: object, form: "a" | "b" = "b") =>
  t.call("POST", `/v1/agents/${id}/drafts`, { body, form });
const versions = async (id: string) => (await t.parley.agents.listVersions(id)).data.map(({ version }) => version);

describe("POST /v1/agents/:agentId/drafts", () => {
  test("201: a version that the agent does not get, with which a session runs", async () => {
    const before = await t.parley.agents.get(agentId);
    const made = await draft(agentId, { instructions: "Be brief.", changeNote: "Shorter" });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ agentId, instructions: "Be brief.", model: before.model, changeNote: "Shorter" });
    expect(await t.parley.agents.get(agentId)).toEqual(before);
    expect(await versions(agentId)).toEqual([1]);
    expect(await t.parley.agents.getVersion(agentId, made.body.version)).toEqual(made.body);
    const message = script('text="ok"');
    const played = await play(t, agentId, null, { message, version: made.body.version });
    expect(played.status).toBe(201);
    const asked = JSON.stringify(requestsOf(h, message));
    expect([asked.includes("Be brief."), asked.includes("Be kind.")]).toEqual([true, false]);
  });

  test("201: many at once have a number each, beside updates, which count on from their own", async () => {
    const id = await makeAgent(h, t);
    const drafts = await Promise.all(Array.from({ length: 20 }, (_, n) => draft(id, { instructions: `${n}` })));
    // On a busy machine the last ones wait too long for the agent's row.
    expect(drafts.every(({ status }) => status === 201 || status === 503)).toBe(true);
    const made = drafts.filter(({ status }) => status === 201).map(({ body }) => body.version);
    const numbers = made.sort((one, other) => one - other);
    expect(numbers.length).toBeGreaterThan(1);
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, n) => 1_000_000_001 + n));
    expect((await t.parley.agents.update(id, { instructions: "saved" })).version).toBe(2);
    expect((await draft(id, { model: "simulated/model" })).body).toMatchObject({
      version: 1_000_000_001 + numbers.length,
      instructions: "saved",
    });
    expect(await versions(id)).toEqual([2, 1]);
  });

  test("keeps the newest drafts, and older ones with which a session was begun", async () => {
    const id = await makeAgent(h, t);
    const [pinned, gone] = [
      (await draft(id, { instructions: "a" })).body,
      (await draft(id, { instructions: "b" })).body,
    ];
    await play(t, id, null, { message: script('text="ok"'), version: pinned.version });
    await h.sql`
      insert into agent_versions (agent_id, version, tenant_id, config)
      select agent_id, version + n, tenant_id, config from agent_versions, generate_series(1, ${agentDraftsKept}) n
      where agent_id = ${id} and version = ${gone.version}`;
    await draft(id, { instructions: "c" });
    expect((await t.call("GET", `/v1/agents/${id}/versions/${gone.version}`)).status).toBe(404);
    expect((await t.call("GET", `/v1/agents/${id}/versions/${pinned.version}`)).status).toBe(200);
    expect(await versions(id)).toEqual([1]);
  });

  test("is checked as an update is, in both forms, and leaves an audit event", async () => {
    const other = await h.tenant();
    for (const [body, code] of [
      [{}, "validation_failed"],
      [{ workspaceId: `ws_${"0".repeat(24)}` }, "validation_failed"],
      [{ model: null }, "validation_failed"],
      ...["one\ntwo", "one\u2028two", "\u001b[1m", "x".repeat(201)].map(
        (changeNote) => [{ changeNote }, "validation_failed"] as const,
      ),
      [{ providerId: `prv_${"0".repeat(24)}` }, "provider_not_found"],
    ] as const)
      expect((await draft(agentId, body)).body.error.code).toBe(code);
    expect((await draft(agentId, { changeNote: "B's" }, "a")).status).toBe(400);
    const made = await draft(agentId, { instructions: "in B" });
    expect((await draft(agentId, { instructions: "in A" }, "a")).body).toMatchObject({ instructions: "in A" });
    expect((await other.call("POST", `/v1/agents/${agentId}/drafts`, { body: { name: "x" } })).status).toBe(404);
    const managed = await createManagedAgent(h.sql, t.id);
    expect((await draft(managed, { instructions: "x" })).body.error.code).toBe("admin_agent_managed");
    const events = (await t.parley.auditEvents.list({ resourceId: agentId })).data;
    const event = events.find(({ requestId }) => requestId === made.headers.get("x-request-id"));
    expect(event).toMatchObject({
      ...{ action: "agent.create_draft", changes: ["instructions", "version"] },
      values: [{ field: "version", before: null, after: String(made.body.version) }],
    });
  });
});

describe("why a version was made", () => {
  test("is in the list of versions and in each one, in form B alone, and what a version shows restores it", async () => {
    const id = await makeAgent(h, t);
    const saved = await t.call("PUT", `/v1/agents/${id}`, { body: { instructions: "x", changeNote: "Why not" } });
    expect("changeNote" in saved.body).toBe(false);
    expect((await draft(id, { instructions: "x", changeNote: "  " })).body).not.toHaveProperty("changeNote");
    const [second, first] = (await t.parley.agents.listVersions(id)).data;
    expect(second?.changeNote).toBe("Why not");
    expect(Object.keys(first ?? {})).not.toContain("changeNote");
    expect(await t.parley.agents.getVersion(id, "2")).toEqual(second as never);
    const inA = (await t.call("GET", `/v1/agents/${id}/versions/2`, { form: "a" })).body;
    expect("changeNote" in inA).toBe(false);
    for (const version of [first, second]) {
      const {
        agentId: _agent,
        tenantId: _tenant,
        version: _number,
        createdAt: _at,
        ...body
      } = version as object as {
        [field: string]: unknown;
      };
      expect((await t.call("PUT", `/v1/agents/${id}`, { body })).status).toBe(200);
    }
    expect((await t.parley.agents.getVersion(id, "4")).changeNote).toBe("Why not");
  });

  test("400 validation_failed: a note of more than 200 characters or several lines; 200: of 200", async () => {
    const id = await makeAgent(h, t);
    const put = (changeNote: unknown) => t.call("PUT", `/v1/agents/${id}`, { body: { changeNote } });
    for (const note of ["x".repeat(201), "one\ntwo", null, 7])
      expect((await put(note)).body.error?.details?.issues?.[0]?.path).toBe("/changeNote");
    expect((await put("é".repeat(200))).status).toBe(200);
  });
});
