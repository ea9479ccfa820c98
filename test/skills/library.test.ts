import { afterAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { form, skillMd, tar, tarGz, zip } from "../harness/archives.ts";
import { useTenant } from "../harness/fixture.ts";
import { type CallOptions, eventually } from "../harness/harness.ts";
import { startRole } from "../harness/process.ts";
import { forms, mib, missingSkill, name } from "../harness/skill-calls.ts";
import { expectSameError, statusAndCode } from "../harness/status-and-code.ts";

const { h, t } = await useTenant({ worker: true });
const folder = await mkdtemp(join(tmpdir(), "parley-skill-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

type Parts = Record<string, string | Uint8Array>;

const archive = (title = name(), more = "") => zip([{ name: "SKILL.md", data: skillMd(title, "Useful", more) }]);
const post = (parts: Parts, options: CallOptions = {}, tenant = t) =>
  tenant.call("POST", "/v1/skills", { body: form(parts), ...options });
const put = (id: string, parts: Parts, options: CallOptions = {}, tenant = t) =>
  tenant.call("PUT", `/v1/skills/${id}`, { body: form(parts), ...options });
const get = (id: string, options: CallOptions = {}) => t.call("GET", `/v1/skills/${id}`, options);

async function created(parts: Parts = {}, tenant = t) {
  const response = await post({ file: archive(), ...parts }, {}, tenant);
  expect(response.status).toBe(201);
  return response.body;
}

async function publish(words: string[]) {
  const child = startRole("skill", { DATABASE_URL: h.databaseUrl }, words);
  return { status: await child.ended(), stdout: child.stdout(), stderr: child.stderr() };
}

/** A folder with a valid SKILL.md on the disk. */
async function skillFolder(title: string, files: Record<string, string> = {}): Promise<string> {
  const path = await mkdtemp(join(folder, "s-"));
  for (const [file, text] of Object.entries({ "SKILL.md": skillMd(title, "Of the platform"), ...files })) {
    await mkdir(join(path, file, ".."), { recursive: true });
    await writeFile(join(path, file), text);
  }
  return path;
}

async function published(title = name(), files: Record<string, string> = {}) {
  const response = await publish(["publish", await skillFolder(title, files), "--json"]);
  expect([response.status, response.stderr]).toEqual([0, ""]);
  return JSON.parse(response.stdout.trimEnd().split("\n").at(-1) ?? "");
}

const listed = async (query = "", tenant = t) =>
  (await tenant.call("GET", `/v1/skills${query}`)).body.skills.map((skill: { id: string }) => skill.id);

describe("POST /v1/skills", () => {
  test("201 with meta and files, in both forms; defaults", async () => {
    for (const asked of forms) {
      const title = name();
      const file = zip([
        { name: "SKILL.md", data: skillMd(title, "Useful", "license: MIT\nmetadata: { v: 1 }\n") },
        { name: "a/b", data: "B" },
      ]);
      const response = await post({ file }, { form: asked });
      expect(response.status).toBe(201);
      expect(response.body).toEqual({
        id: expect.stringMatching(/^skill_[0-9a-z]{24}$/),
        ownerKind: "tenant",
        tenantId: t.id,
        name: title,
        description: "Useful",
        userId: "",
        metadata: {},
        meta: { name: title, description: "Useful", license: "MIT", metadata: { v: 1 } },
        files: [
          { path: "SKILL.md", sizeBytes: expect.any(Number) },
          { path: "a/b", sizeBytes: 1 },
        ],
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        updatedAt: response.body.createdAt,
      });
      expect((await get(response.body.id, { form: asked })).body).toEqual(response.body);
    }
  });

  test("201 from every kind of archive, named by the filename's ending; with userId and metadata", async () => {
    const files = [{ name: "./SKILL.md", data: skillMd(name()) }];
    const archives: [string, Uint8Array][] = [
      ["tea.zip", zip(files)],
      ["tea.tar", tar(files)],
      ["tea.tar.gz", tarGz(files)],
      ["TEA.TGZ", tarGz(files)],
    ];
    for (const [filename, file] of archives) {
      const response = await post({ file, filename, userId: "ada", metadata: '{"a":{"b":[1,null]}}' });
      expect(response.status).toBe(201);
      expect(response.body).toMatchObject({ userId: "ada", metadata: { a: { b: [1, null] } } });
    }
  });

  test("400 invalid_request: a broken archive or frontmatter, one that unpacks to too much included; 413 payload_too_large: too much as sent; nothing is saved", async () => {
    const tenant = await h.tenant();
    const md = { name: "SKILL.md", data: skillMd() };
    const many = Array.from({ length: 100 }, (_, index) => ({ name: `f${index}`, data: "" }));
    const broken = [
      Buffer.from("no zip"),
      zip([md, { name: "../up", data: "x" }]),
      zip([{ name: "README.md", data: "x" }]),
      zip([{ name: "SKILL.md", data: "# none" }]),
      zip([md, ...many]),
      tar([md]),
      zip([md, { name: "big", data: Buffer.alloc(10 * mib) }]),
    ];
    for (const file of broken)
      for (const asked of forms)
        expect(statusAndCode(await post({ file }, { form: asked }, tenant))).toEqual([400, "invalid_request"]);
    expect(statusAndCode(await post({ file: Buffer.alloc(10 * mib + 1) }, {}, tenant))).toEqual([
      413,
      "payload_too_large",
    ]);
    expect(await listed("", tenant)).toEqual(await listed("?filter=built-in"));
  });

  test("400 validation_failed (A: invalid_request): a form that is not as it should be", async () => {
    const file = archive();
    const bad: Parts[] = [
      {},
      { file: "text" },
      { file, filename: "tea.rar" },
      { file, filename: "" },
      { file, metadata: "[1]" },
      { file, metadata: "null" },
      { file, metadata: "{" },
      { file, metadata: '{"a":"\\u0000"}' },
      { file, userId: "u".repeat(257) },
      { file, other: "x" },
    ];
    for (const parts of bad) {
      expect(statusAndCode(await post(parts))).toEqual([400, "validation_failed"]);
      expect(statusAndCode(await post(parts, { form: "a" }))).toEqual([400, "invalid_request"]);
    }
    expect(statusAndCode(await t.call("POST", "/v1/skills", { body: { file: "x" } }))).toEqual([
      400,
      "validation_failed",
    ]);
  });

  test("201 once for an Idempotency-Key; another archive is 422 idempotency_key_reused", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const file = archive();
    const first = await post({ file }, { headers });
    expect((await post({ file }, { headers })).body).toEqual(first.body);
    expect(statusAndCode(await post({ file: archive() }, { headers }))).toEqual([422, "idempotency_key_reused"]);
  });

  test("400 invalid_request: 200 skills, under concurrency", async () => {
    const tenant = await h.tenant();
    await h.sql`
      insert into library_skills (id, tenant_id, name)
      select 'skill_' || lpad('7' || n::text, 24, '0'), ${tenant.id}, 'n' from generate_series(1, 198) n`;
    const responses = await Promise.all(Array.from({ length: 5 }, () => post({ file: archive() }, {}, tenant)));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(2);
    for (const response of responses.filter(({ status }) => status !== 201))
      expect(statusAndCode(response)).toEqual([400, "invalid_request"]);
  });
});

describe("GET /v1/skills", () => {
  test("200: all, built-in or my, of one userId, most recently updated first", async () => {
    const tenant = await h.tenant();
    const { skillId: platform } = await published();
    const first = await created({}, tenant);
    const ada = await created({ userId: "ada" }, tenant);
    await created({}, await h.tenant());
    const [all, builtIn] = [await listed("", tenant), await listed("?filter=built-in", tenant)];
    expect(builtIn).toContain(platform);
    expect(all).toEqual([ada.id, first.id, ...builtIn]);
    expect(await listed("?filter=all", tenant)).toEqual(all);
    expect(await listed("?filter=my", tenant)).toEqual([ada.id, first.id]);
    expect(await listed("?userId=ada", tenant)).toEqual([ada.id]);
    expect(await listed("?filter=my&userId=", tenant)).toEqual([first.id]);
    expect((await put(first.id, { file: archive() }, {}, tenant)).status).toBe(200);
    expect(await listed("?filter=my", tenant)).toEqual([first.id, ada.id]);
    const [shown] = (await tenant.call("GET", "/v1/skills?userId=ada", { form: "a" })).body.skills;
    const { meta: _meta, files: _files, ...fields } = ada;
    expect(shown).toEqual(fields);
    for (const query of ["filter=mine", "filter=", "limit=1"])
      expect(statusAndCode(await tenant.call("GET", `/v1/skills?${query}`))).toEqual([400, "validation_failed"]);
  });
});

describe("PUT /v1/skills/:skillId", () => {
  test("200: the content is replaced, a version is stored, metadata that is left out stays", async () => {
    const skill = await created({ userId: "ada", metadata: '{"keep":1}' });
    const title = name();
    const file = tarGz([
      { name: "SKILL.md", data: skillMd(title, "Newer") },
      { name: "new", data: "N" },
    ]);
    // A time is told to the millisecond, of which a fast machine makes two calls.
    await eventually(() => Date.now() > Date.parse(skill.updatedAt));
    const response = await put(skill.id, { file, filename: "next.tar.gz" });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ id: skill.id, name: title, description: "Newer", userId: "ada" });
    expect(response.body).toMatchObject({ metadata: { keep: 1 }, meta: { name: title }, createdAt: skill.createdAt });
    expect(response.body.files.map((one: { path: string }) => one.path)).toEqual(["SKILL.md", "new"]);
    expect(response.body.updatedAt > skill.updatedAt).toBe(true);
    expect((await put(skill.id, { file: archive(), metadata: "{}" })).body.metadata).toEqual({});
    const versions = await h.sql<{ version: number; filename: string; files: number }[]>`
      select v.version, v.filename, count(f.*)::int as files from library_skill_versions v
      join skill_files f using (skill_id, version) where v.skill_id = ${skill.id} group by 1, 2 order by 1`;
    expect(versions.map(({ version, filename, files }) => [version, filename, files])).toEqual([
      [1, "skill.zip", 1],
      [2, "next.tar.gz", 2],
      [3, "skill.zip", 1],
    ]);
  });

  test("400 invalid_request, validation_failed: a broken archive, no file, a userId; nothing changes", async () => {
    const skill = await created();
    expect(statusAndCode(await put(skill.id, { file: Buffer.from("x") }))).toEqual([400, "invalid_request"]);
    for (const parts of [{}, { file: archive(), userId: "eve" }] as Parts[])
      expect(statusAndCode(await put(skill.id, parts))).toEqual([400, "validation_failed"]);
    expect((await get(skill.id)).body).toEqual(skill);
    expect(await h.sql`select 1 from library_skill_versions where skill_id = ${skill.id}`).toHaveLength(1);
  });

  test("a reader never sees a mixture of two versions", async () => {
    const make = (n: number) =>
      zip([
        { name: "SKILL.md", data: skillMd(`version ${n}`) },
        { name: `file ${n}`, data: "x" },
      ]);
    const skill = await created({ file: make(0) });
    const writes = Array.from({ length: 8 }, (_, index) => put(skill.id, { file: make(index + 1) }));
    const reads = Array.from({ length: 40 }, () => get(skill.id));
    for (const { status, body } of await Promise.all(reads)) {
      expect(status).toBe(200);
      const n = /^version (\d+)$/.exec(body.name)?.[1];
      expect([body.meta.name, body.files[1].path]).toEqual([`version ${n}`, `file ${n}`]);
    }
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(Array(8).fill(200));
  });
});

describe("/v1/skills/:skillId", () => {
  test("404 not_found: missing and foreign alike; 400 for malformed ids", async () => {
    const skill = await created();
    const stranger = await h.tenant();
    for (const method of ["GET", "PUT", "DELETE"])
      for (const asked of forms) {
        const options = method === "PUT" ? { body: form({ file: archive() }), form: asked } : { form: asked };
        const missing = await stranger.call(method, `/v1/skills/${missingSkill}`, options);
        expect(statusAndCode(missing)).toEqual([404, "not_found"]);
        expectSameError(await stranger.call(method, `/v1/skills/${skill.id}`, options), missing);
        expect(statusAndCode(await t.call(method, "/v1/skills/skill_x", options))[0]).toBe(400);
      }
    expect((await get(skill.id)).body).toEqual(skill);
  });

  test("403 invalid_request: changing a platform skill, which is readable by all", async () => {
    const { skillId } = await published(name(), { "docs/a.md": "A" });
    const before = (await get(skillId)).body;
    expect(before).toMatchObject({ id: skillId, ownerKind: "platform", tenantId: null, userId: "", metadata: {} });
    expect(before.files.map((file: { path: string }) => file.path)).toEqual(["SKILL.md", "docs/a.md"]);
    for (const asked of forms) {
      expect(statusAndCode(await put(skillId, { file: archive() }, { form: asked }))).toEqual([403, "invalid_request"]);
      const removed = await t.call("DELETE", `/v1/skills/${skillId}`, { form: asked });
      expect(statusAndCode(removed)).toEqual([403, "invalid_request"]);
    }
    expect((await get(skillId)).body).toEqual(before);
  });
});

describe("skill list and withdraw", () => {
  test("lists what was published; a withdrawn skill is gone with its files, and can be published again", async () => {
    const title = name();
    const { skillId } = await published(title);
    const listing = await publish(["list", "--json"]);
    const shown = JSON.parse(listing.stdout).find((skill: { skillId: string }) => skill.skillId === skillId);
    expect(shown).toMatchObject({ name: title, version: 1 });
    expect((await publish(["list"])).stdout).toContain(title);
    const agent = await t.call("POST", "/v1/agents", { form: "a", body: { name: name(), skills: [skillId] } });
    expect(agent.status).toBe(201);
    const withdrawn = await publish(["withdraw", "--skill", skillId]);
    expect([withdrawn.status, withdrawn.stdout]).toEqual([0, `${skillId} is withdrawn: ${title}.\n`]);
    expect((await get(skillId)).status).toBe(404);
    expect((await t.call("GET", `/v1/agents/${agent.body.id}`, { form: "a" })).status).toBe(200);
    await eventually(async () => (await h.sql`select 1 from skill_files where skill_id = ${skillId}`).length === 0);
    const events = await h.sql`select action, tenant_id from audit_events where resource_id = ${skillId} order by at`;
    expect(events.map(({ action, tenantId }) => [action, tenantId])).toEqual([
      ["skill.publish", null],
      ["skill.withdraw", null],
    ]);
    expect((await published(title)).version).toBe(1);
  }, 120_000);

  test("withdraws no skill of a tenant, and none twice", async () => {
    const { body: own } = await post({ file: archive() });
    const { skillId } = await published(name());
    await publish(["withdraw", "--skill", skillId]);
    for (const words of [["--skill", own.id], ["--skill", skillId], ["--skill", "x"], []]) {
      const { status, stderr } = await publish(["withdraw", ...words]);
      expect([status, stderr.trimEnd().split("\n").length]).toEqual([1, 1]);
    }
    expect((await get(own.id)).status).toBe(200);
  }, 120_000);
});

describe("skill publish", () => {
  test("publishes a folder, and under the same name its next version", async () => {
    const title = name();
    const first = await published(title);
    expect(first).toEqual({ skillId: expect.stringMatching(/^skill_/), name: title, version: 1 });
    expect(await published(title, { new: "N" })).toEqual({ ...first, version: 2 });
    expect((await get(first.skillId)).body.files).toHaveLength(2);
    const plain = await startRole("tenant", { DATABASE_URL: h.databaseUrl }, [
      "skill",
      "publish",
      await skillFolder(title),
    ]);
    expect(await plain.ended()).toBe(0);
    expect(plain.stdout()).toContain(first.skillId);
  }, 120_000);

  test("a folder that is no skill, or a wrong word, ends with one line and changes nothing", async () => {
    const before = await listed("?filter=built-in");
    const linked = await skillFolder(name());
    await symlink("/etc/passwd", join(linked, "link"));
    const many = await skillFolder(name(), Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`f${n}`, "x"])));
    const broken = await skillFolder(name(), { "SKILL.md": "# none" });
    for (const words of [
      [],
      ["publish"],
      ["unpublish", linked],
      ["publish", linked, "more"],
      ["publish", "--force", linked],
      ["publish", join(folder, "missing")],
      ["publish", join(linked, "SKILL.md")],
      ["publish", folder],
      ["publish", linked],
      ["publish", many],
      ["publish", broken],
    ]) {
      const { status, stdout, stderr } = await publish(words);
      expect([words, status, stdout]).toEqual([words, 1, ""]);
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    }
    expect(await listed("?filter=built-in")).toEqual(before);
  }, 120_000);
});
