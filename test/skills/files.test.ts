import { describe, expect, test } from "bun:test";
import { skillMd } from "../harness/archives.ts";
import { useTenant } from "../harness/fixture.ts";
import { type CallOptions, eventually } from "../harness/harness.ts";
import { codeIn, forms, mib, missingAgent, missingSkill, name, octets, skillCalls } from "../harness/skill-calls.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

const { h, t } = await useTenant();
const skills = skillCalls(t);
const agentId = await skills.agent();

describe("files of a skill", () => {
  test("PUT 200 creates and replaces, GET 200 returns the very bytes, DELETE 200 removes, also what is missing", async () => {
    const skill = await skills.created(agentId);
    // A time is told to the millisecond, of which a fast machine makes two calls.
    await eventually(() => Date.now() > Date.parse(skill.updatedAt));
    const added = await skills.put(agentId, skill.id, "docs/größe 1.md", "one");
    expect(added.status).toBe(200);
    expect(added.body).toEqual({
      ...skill,
      updatedAt: added.body.updatedAt,
      files: [skill.files[0], { path: "docs/größe 1.md", sizeBytes: 3 }],
    });
    expect(added.body.updatedAt > skill.updatedAt).toBe(true);
    expect((await skills.put(agentId, skill.id, "docs/größe 1.md", "")).body.files[1].sizeBytes).toBe(0);
    expect((await t.call("GET", skills.at(agentId, skill.id, "docs/größe 1.md"))).body).toBeNull();
    const removed = await t.call("DELETE", skills.at(agentId, skill.id, "docs/größe 1.md"));
    expect([removed.status, removed.body.files]).toEqual([200, skill.files]);
    const again = await t.call("DELETE", skills.at(agentId, skill.id, "docs/größe 1.md"));
    expect([again.status, again.body]).toEqual([200, removed.body]);
    expect(statusAndCode(await t.call("GET", skills.at(agentId, skill.id, "docs/größe 1.md")))).toEqual([
      404,
      "not_found",
    ]);
  });

  test("PUT SKILL.md 200: the skill follows its frontmatter, and keeps its id", async () => {
    const skill = await skills.created(agentId);
    const title = name();
    const response = await skills.put(
      agentId,
      skill.id,
      "SKILL.md",
      skillMd(title, "Another one", "metadata: { v: 2 }\n"),
    );
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ id: skill.id, name: title, description: "Another one", metadata: { v: 2 } });
    expect((await skills.put(agentId, skill.id, "SKILL.md", skillMd(title))).status).toBe(200);
  });

  test("400 skill_invalid_markdown, 409 skill_name_conflict: PUT SKILL.md; nothing changes", async () => {
    const skill = await skills.created(agentId);
    const other = await skills.created(agentId);
    for (const content of ["", "# none", Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff])])
      expect(statusAndCode(await skills.put(agentId, skill.id, "SKILL.md", content))).toEqual([
        400,
        "skill_invalid_markdown",
      ]);
    expect(statusAndCode(await skills.put(agentId, skill.id, "SKILL.md", skillMd(other.name)))).toEqual([
      409,
      "skill_name_conflict",
    ]);
    expect((await t.call("GET", `/v1/agents/${agentId}/skills/${skill.id}`)).body).toEqual(skill);
  });

  test("400 validation_failed: DELETE SKILL.md", async () => {
    const skill = await skills.created(agentId);
    for (const asked of forms)
      expect(statusAndCode(await t.call("DELETE", skills.at(agentId, skill.id, "SKILL.md"), { form: asked }))).toEqual([
        400,
        codeIn(asked, "validation_failed"),
      ]);
  });

  test("400 validation_failed: paths with .., ., absolute, empty or NUL, and another media type", async () => {
    const skill = await skills.created(agentId);
    const bad = [
      "",
      "/x",
      "../x",
      "a/../b",
      "a/..",
      ".",
      "./x",
      "a/./b",
      "a//b",
      "a/",
      "a\\b",
      "a\0b",
      "p".repeat(1_025),
    ];
    for (const path of bad)
      for (const method of ["GET", "PUT", "DELETE"]) {
        const options = method === "PUT" ? { body: Buffer.from("x"), headers: octets } : {};
        expect([path, ...statusAndCode(await t.call(method, skills.at(agentId, skill.id, path), options))]).toEqual([
          path,
          400,
          "validation_failed",
        ]);
      }
    const noPath = skills.at(agentId, skill.id, "").split("?")[0] as string;
    expect(statusAndCode(await t.call("GET", noPath))).toEqual([400, "validation_failed"]);
    expect(statusAndCode(await t.call("GET", `${skills.at(agentId, skill.id, "a")}&path=b`))).toEqual([
      400,
      "validation_failed",
    ]);
    const json = await t.call("PUT", skills.at(agentId, skill.id, "a.json"), { body: { a: 1 } });
    expect(statusAndCode(json)).toEqual([400, "validation_failed"]);
  });

  test("400 skill_too_many_files: 100 files, under concurrency; replacing one is still 200", async () => {
    const skill = await skills.created(agentId);
    await h.sql`
      insert into skill_files (skill_id, version, path, content)
      select ${skill.id}, 1, 'f' || n, ''::bytea from generate_series(1, 96) n`;
    const responses = await Promise.all(
      Array.from({ length: 6 }, (_, index) => skills.put(agentId, skill.id, `new${index}`, "x")),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(3);
    for (const response of responses.filter(({ status }) => status !== 200))
      expect(statusAndCode(response)).toEqual([400, "skill_too_many_files"]);
    expect((await skills.put(agentId, skill.id, "f1", "replaced")).status).toBe(200);
  });

  test("413 skill_uncompressed_too_large: over 10 MiB together; exactly 10 MiB is 200", async () => {
    const skill = await skills.created(agentId);
    const room = 10 * mib - skill.files[0]!.sizeBytes;
    expect((await skills.put(agentId, skill.id, "big", Buffer.alloc(room))).status).toBe(200);
    expect(statusAndCode(await skills.put(agentId, skill.id, "more", "x"))).toEqual([
      413,
      "skill_uncompressed_too_large",
    ]);
    expect(statusAndCode(await skills.put(agentId, skill.id, "big", Buffer.alloc(room + 1)))).toEqual([
      413,
      "skill_uncompressed_too_large",
    ]);
    expect(statusAndCode(await skills.put(agentId, skill.id, "huge", Buffer.alloc(10 * mib + 1)))).toEqual([
      413,
      "skill_uncompressed_too_large",
    ]);
    expect((await skills.put(agentId, skill.id, "big", "small")).status).toBe(200);
    expect((await skills.put(agentId, skill.id, "more", "x")).status).toBe(200);
  });
});

describe("POST /v1/agents/:agentId/skills/:skillId/copies", () => {
  const copy = (id: string, agentIds: unknown, options: CallOptions = {}) =>
    t.call("POST", `/v1/agents/${agentId}/skills/${id}/copies`, { body: { agentIds }, ...options });

  test("200: one result per destination in the order asked, failures among them", async () => {
    const skill = await skills.created(agentId);
    await skills.put(agentId, skill.id, "a/b", "B");
    const [free, taken] = [await skills.agent(), await skills.agent()];
    await skills.created(taken, skillMd(skill.name));
    const stranger = await h.tenant();
    const foreign = await skills.agent({}, stranger);
    const full = await skills.agent();
    await h.sql`
      insert into agent_skills (id, tenant_id, agent_id, name, description, created_at, updated_at)
      select 'skill_' || lpad('9' || n::text, 24, '0'), ${t.id}, ${full}, 'n' || n, 'd', now(), now()
      from generate_series(1, 100) n`;
    for (const headers of [{}, { "idempotency-key": crypto.randomUUID() }]) {
      const target = Object.keys(headers).length === 0 ? free : await skills.agent();
      const response = await copy(skill.id, [taken, missingAgent, target, full, foreign, agentId], { headers });
      expect(response.status).toBe(200);
      const [, , made] = response.body;
      expect(response.body.map((result: { error?: { code: string } }) => result.error?.code ?? "created")).toEqual([
        "skill_name_conflict",
        "not_found",
        "created",
        "skill_limit_reached",
        "not_found",
        "skill_name_conflict",
      ]);
      expect(response.body[0]).toEqual({
        agentId: taken,
        status: "failed",
        error: { code: "skill_name_conflict", message: expect.any(String) },
      });
      expect(made).toMatchObject({ agentId: target, status: "created", skill: { agentId: target, name: skill.name } });
      expect(made.skill.id).not.toBe(skill.id);
      expect(made.skill.files.map((file: { path: string }) => file.path)).toEqual(["SKILL.md", "a/b"]);
      expect((await t.call("GET", skills.at(target, made.skill.id, "a/b"))).body).toBe("B");
    }
    const inA = await copy(skill.id, [full], { form: "a" });
    expect(inA.body[0].error.code).toBe("invalid_request");
    // A copy is a skill of its own.
    const [own] = (await t.call("GET", `/v1/agents/${free}/skills`)).body.data;
    await skills.put(free, own.id, "a/b", "changed");
    expect((await t.call("GET", skills.at(agentId, skill.id, "a/b"))).body).toBe("B");
  });

  test("400 validation_failed: none, 31, or the same destination twice; 404 skill_not_found: the skill", async () => {
    const skill = await skills.created(agentId);
    const other = await skills.agent();
    const many = Array.from({ length: 31 }, (_, index) => `ag_${String(index).padStart(24, "0")}`);
    for (const agentIds of [[], many, [other, other], ["x"], other, undefined])
      for (const asked of forms)
        expect(statusAndCode(await copy(skill.id, agentIds, { form: asked }))).toEqual([
          400,
          codeIn(asked, "validation_failed"),
        ]);
    expect((await copy(skill.id, many.slice(0, 30))).body).toHaveLength(30);
    expect(statusAndCode(await copy(missingSkill, [other]))).toEqual([404, "skill_not_found"]);
  });

  test("crossing copies all end", async () => {
    const other = await skills.agent();
    const [here, there] = [await skills.created(agentId), await skills.created(other)];
    const responses = await Promise.all(
      [0, 1, 2].flatMap(() => [
        copy(here.id, [other]),
        t.call("POST", `/v1/agents/${other}/skills/${there.id}/copies`, { body: { agentIds: [agentId] } }),
        skills.put(agentId, here.id, "x", "1"),
        skills.put(other, there.id, "x", "2"),
      ]),
    );
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
  });
});
