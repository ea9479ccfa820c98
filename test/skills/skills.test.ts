import { describe, expect, test } from "bun:test";
import { form, skillMd, tar, tarGz, zip } from "../harness/archives.ts";
import { useTenant } from "../harness/fixture.ts";
import { codeIn, forms, mib, name, skillCalls } from "../harness/skill-calls.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

const { h, t } = await useTenant();
const skills = skillCalls(t);
const agentId = await skills.agent();

describe("POST /v1/agents/:agentId/skills", () => {
  test("201 with files, in both forms; frontmatter gives name, description and metadata", async () => {
    for (const asked of forms) {
      const title = name();
      const markdown = skillMd(
        title,
        "Grüner Tee 🍵",
        "metadata:\n  author: Ada\n  deep: { list: [1, two, null] }\nextra: 1\n",
      );
      const response = await skills.create(agentId, markdown, { form: asked });
      expect(response.status).toBe(201);
      expect(response.body).toEqual({
        id: expect.stringMatching(/^skill_[0-9a-z]{24}$/),
        tenantId: t.id,
        agentId,
        name: title,
        description: "Grüner Tee 🍵",
        metadata: { author: "Ada", deep: { list: [1, "two", null] } },
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        updatedAt: response.body.createdAt,
        files: [{ path: "SKILL.md", sizeBytes: Buffer.byteLength(markdown) }],
      });
      expect((await t.call("GET", `/v1/agents/${agentId}/skills/${response.body.id}`)).body).toEqual(response.body);
    }
  });

  test("201 with CRLF, a byte-order mark, quoted and folded texts; the file is kept verbatim", async () => {
    const title = name();
    const markdown = `\uFEFF---\r\nname: "${title}"\r\ndescription: >-\r\n  one\r\n  two\r\n---\r\nBody\r\n`;
    const skill = await skills.created(agentId, markdown);
    expect(skill).toMatchObject({ name: title, description: "one two", metadata: {} });
    const file = await t.call("GET", skills.at(agentId, skill.id, "SKILL.md"));
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "application/octet-stream"]);
    expect(skill.files[0]?.sizeBytes).toBe(Buffer.byteLength(markdown));
    expect(file.body).toContain("---\r\nBody\r\n");
  });

  test("400 skill_invalid_markdown: nothing is saved", async () => {
    const agent = await skills.agent();
    const bomb = ["a: &a [x,x,x,x,x,x,x,x,x,x]"];
    for (const [index, key] of [..."bcdefghij"].entries())
      bomb.push(`${key}: &${key} [${Array(10).fill(`*${"abcdefghi"[index]}`).join(",")}]`);
    for (const markdown of [
      "",
      "# no frontmatter",
      " ---\nname: x\ndescription: y\n---\n",
      "---\nname: x\ndescription: y\n",
      "---\n---\n",
      "---\nname: x\n---\n",
      "---\ndescription: y\n---\n",
      "---\nname: ''\ndescription: y\n---\n",
      "---\nname: '  '\ndescription: y\n---\n",
      "---\nname: [x]\ndescription: y\n---\n",
      "---\nname: x\nname: z\ndescription: y\n---\n",
      "---\nname: x\ndescription: null\n---\n",
      "---\n- name: x\n---\n",
      "---\nname: x: y\n---\n",
      "---\nname: x\ndescription: a: b\nname: z\n---\n",
      `---\nname: ${"n".repeat(201)}\ndescription: y\n---\n`,
      "---\nname: x\ndescription: y\nmetadata: [1]\n---\n",
      "---\nname: x\ndescription: y\nmetadata: text\n---\n",
      "---\nname: x\ndescription: y\nmetadata: &m { m: *m }\n---\n",
      ...["!!binary aGk=", "!!js/function 'x'", "!own x", "!!set { a }", "!!timestamp 2020-01-01", ".nan", "-.inf"].map(
        (value) => `---\nname: x\ndescription: y\nmetadata: { a: ${value} }\n---\n`,
      ),
      "--- \nname: !!binary aGk=\ndescription: y\n---\n",
      '---\nname: "a\\0b"\ndescription: y\n---\n',
      '---\nname: x\ndescription: y\nmetadata: { a: "\\uD800" }\n---\n',
      "---\nname: x\ndescription: y\nmetadata: { __proto__: { a: 1 } }\n---\n",
      `---\nname: x\ndescription: y\n${bomb.join("\n")}\n---\n`,
      `---\nname: x\ndescription: y\nd: ${"[".repeat(8_000)}${"]".repeat(8_000)}\n---\n`,
      `---\nname: x\ndescription: y\nd: ${"z".repeat(20_000)}\n---\n`,
    ])
      for (const asked of forms)
        expect([
          markdown.slice(0, 80),
          ...statusAndCode(await skills.create(agent, markdown, { form: asked })),
        ]).toEqual([markdown.slice(0, 80), 400, codeIn(asked, "skill_invalid_markdown")]);
    expect(await skills.count(agent)).toBe(0);
  });

  test("400 validation_failed: broken fields", async () => {
    const content = skillMd(name());
    for (const body of [
      {},
      { path: "SKILL.md" },
      { content },
      { path: "skill.md", content },
      { path: "a/SKILL.md", content },
      { path: "SKILL.md", content: 7 },
      { path: "SKILL.md", content: `${content}\u0000` },
      { path: "SKILL.md", content, name: "x" },
    ])
      for (const asked of forms)
        expect(statusAndCode(await t.call("POST", `/v1/agents/${agentId}/skills`, { body, form: asked }))).toEqual([
          400,
          codeIn(asked, "validation_failed"),
        ]);
  });

  test("409 skill_name_conflict: within an agent, under concurrency; other agents and a deleted skill free the name", async () => {
    const agent = await skills.agent();
    const markdown = skillMd(name());
    const responses = await Promise.all(Array.from({ length: 6 }, () => skills.create(agent, markdown)));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const response of responses.filter(({ status }) => status !== 201))
      expect(statusAndCode(response)).toEqual([409, "skill_name_conflict"]);
    expect(statusAndCode(await skills.create(agent, markdown, { form: "a" }))).toEqual([400, "invalid_request"]);
    await skills.created(agentId, markdown);
    const [{ id }] = (await t.call("GET", `/v1/agents/${agent}/skills`)).body.data;
    expect((await t.call("DELETE", `/v1/agents/${agent}/skills/${id}`)).status).toBe(204);
    await skills.created(agent, markdown);
  });

  test("400 skill_limit_reached: 100 skills, under concurrency", async () => {
    const agent = await skills.agent();
    await h.sql`
      insert into agent_skills (id, tenant_id, agent_id, name, description, created_at, updated_at)
      select 'skill_' || lpad('8' || n::text, 24, '0'), ${t.id}, ${agent}, 'n' || n, 'd', now(), now()
      from generate_series(1, 97) n`;
    const responses = await Promise.all(Array.from({ length: 6 }, () => skills.create(agent)));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(3);
    for (const response of responses.filter(({ status }) => status !== 201))
      expect(statusAndCode(response)).toEqual([400, "skill_limit_reached"]);
    expect(statusAndCode(await skills.create(agent, undefined, { form: "a" }))).toEqual([400, "invalid_request"]);
    expect(
      statusAndCode(await skills.upload(agent, "zip", zip([{ name: "SKILL.md", data: skillMd(name()) }]))),
    ).toEqual([400, "skill_limit_reached"]);
  });

  test("201 once for an Idempotency-Key", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const markdown = skillMd(name());
    const first = await skills.create(agentId, markdown, { headers });
    expect((await skills.create(agentId, markdown, { headers })).body).toEqual(first.body);
    expect(statusAndCode(await skills.create(agentId, skillMd(name()), { headers }))).toEqual([
      422,
      "idempotency_key_reused",
    ]);
  });
});

describe("POST /v1/agents/:agentId/skills/upload", () => {
  test("201 from zip, tar and tar.gz with all their files, in both forms", async () => {
    for (const asked of forms)
      for (const type of ["zip", "tar", "tar.gz"] as const) {
        const files = [
          { name: "scripts/run.sh", data: "#!/bin/sh\n" },
          { name: "SKILL.md", data: skillMd(name()) },
          { name: "data.bin", data: new Uint8Array([0, 255, 1, 254]) },
        ];
        const archive = { zip, tar, "tar.gz": tarGz }[type](files);
        const response = await skills.upload(agentId, type, archive, { form: asked });
        expect(response.status).toBe(201);
        expect(response.body.files.map((file: { path: string }) => file.path)).toEqual([
          "SKILL.md",
          "data.bin",
          "scripts/run.sh",
        ]);
        const [row] = await h.sql<{ content: Buffer }[]>`
          select content from skill_files where skill_id = ${response.body.id} and path = 'data.bin'`;
        expect([...(row?.content ?? [])]).toEqual([0, 255, 1, 254]);
        expect((await t.call("GET", skills.at(agentId, response.body.id, "scripts/run.sh"))).body).toBe("#!/bin/sh\n");
      }
  });

  test("each refusal by its code, in both forms, and nothing is saved", async () => {
    const agent = await skills.agent();
    const md = { name: "SKILL.md", data: skillMd(name()) };
    const many = Array.from({ length: 100 }, (_, index) => ({ name: `f${index}`, data: "" }));
    const refused: [string, Uint8Array, number, string][] = [
      ["zip", zip([md, { name: "../up", data: "x" }]), 400, "skill_invalid_archive"],
      ["zip", zip([{ name: "a", data: "x" }]), 400, "skill_invalid_archive"],
      ["tar", zip([md]), 400, "skill_invalid_archive"],
      ["tar", tar([md, { name: "l", type: "2", linkName: "/etc/passwd" }]), 400, "skill_invalid_archive"],
      ["tar.gz", tarGz([md, ...many]), 400, "skill_too_many_files"],
      ["zip", zip([{ name: "SKILL.md", data: "# no frontmatter" }]), 400, "skill_invalid_markdown"],
    ];
    for (const [type, archive, status, code] of refused)
      for (const asked of forms)
        expect(statusAndCode(await skills.upload(agent, type, archive, { form: asked }))).toEqual([
          status,
          codeIn(asked, code),
        ]);
    const large = zip([md, { name: "big", data: Buffer.alloc(10 * mib) }]);
    for (const asked of forms) {
      const response = await skills.upload(agent, "zip", large, { form: asked });
      expect(statusAndCode(response)).toEqual([413, codeIn(asked, "skill_uncompressed_too_large")]);
    }
    expect(statusAndCode(await skills.upload(agent, "tar", Buffer.alloc(10 * mib + 1)))).toEqual([
      413,
      "payload_too_large",
    ]);
    expect(statusAndCode(await skills.upload(agent, "tar", Buffer.alloc(12 * mib)))).toEqual([
      413,
      "payload_too_large",
    ]);
    expect(await skills.count(agent)).toBe(0);
    expect(
      await h.sql`select 1 from skill_files f where not exists (
      select 1 from agent_skills s where s.id = f.skill_id)`,
    ).toHaveLength(0);
  });

  test("400 validation_failed: a form that is not as it should be", async () => {
    const file = zip([{ name: "SKILL.md", data: skillMd(name()) }]);
    const path = `/v1/agents/${agentId}/skills/upload`;
    for (const body of [
      form({ type: "zip" }),
      form({ file }),
      form({ type: "rar", file }),
      form({ type: "zip", file: "text" }),
      form({ type: file, file }),
      form({ type: "zip", file, other: "x" }),
      "type=zip",
    ])
      expect(statusAndCode(await t.call("POST", path, { body }))).toEqual([400, "validation_failed"]);
    const twice = form({ type: "zip", file });
    twice.append("type", "tar");
    expect(statusAndCode(await t.call("POST", path, { body: twice }))).toEqual([400, "validation_failed"]);
    const headers = { "content-type": "multipart/form-data; boundary=x" };
    expect(statusAndCode(await t.call("POST", path, { body: "--x\r\n broken", headers }))).toEqual([
      400,
      "validation_failed",
    ]);
  });

  test("409 skill_name_conflict: with a skill that was made from text", async () => {
    const skill = await skills.created(agentId);
    const archive = zip([{ name: "SKILL.md", data: skillMd(skill.name) }]);
    expect(statusAndCode(await skills.upload(agentId, "zip", archive))).toEqual([409, "skill_name_conflict"]);
  });

  test("201 once for an Idempotency-Key, whatever the form's boundary; another archive is 422 idempotency_key_reused", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const archive = zip([{ name: "SKILL.md", data: skillMd(name()) }]);
    const first = await skills.upload(agentId, "zip", archive, { headers });
    expect(first.status).toBe(201);
    expect((await skills.upload(agentId, "zip", archive, { headers })).body).toEqual(first.body);
    const other = zip([{ name: "SKILL.md", data: skillMd(name()) }]);
    expect(statusAndCode(await skills.upload(agentId, "zip", other, { headers }))).toEqual([
      422,
      "idempotency_key_reused",
    ]);
  });
});

describe("GET /v1/agents/:agentId/skills", () => {
  test("200: newest first, without files, page by page", async () => {
    const agent = await skills.agent();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) ids.unshift((await skills.created(agent)).id);
    for (const asked of forms) {
      const seen: string[] = [];
      let cursor = "";
      do {
        const page = await t.call("GET", `/v1/agents/${agent}/skills?limit=2${cursor}`, { form: asked });
        expect(page.status).toBe(200);
        expect(page.body.data.every((skill: object) => !("files" in skill))).toBe(true);
        seen.push(...page.body.data.map((skill: { id: string }) => skill.id));
        cursor = page.body.nextCursor === null ? "" : `&cursor=${page.body.nextCursor}`;
      } while (cursor !== "");
      expect(seen).toEqual(ids);
    }
  });

  test("400 validation_failed, invalid_cursor: limits and cursors that are none", async () => {
    for (const query of ["limit=0", "limit=101", "limit=x", "other=1"])
      expect(statusAndCode(await t.call("GET", `/v1/agents/${agentId}/skills?${query}`))).toEqual([
        400,
        "validation_failed",
      ]);
    for (const asked of forms)
      expect(statusAndCode(await t.call("GET", `/v1/agents/${agentId}/skills?cursor=x`, { form: asked }))).toEqual([
        400,
        codeIn(asked, "invalid_cursor"),
      ]);
  });
});
