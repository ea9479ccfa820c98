import { describe, expect, test } from "bun:test";
import { injectedMemories } from "../../src/memories/inject.ts";
import { eventually } from "../harness/eventually.ts";
import { useMemories } from "../harness/memory-fixture.ts";
import { fillMemories } from "../harness/seed.ts";
import { expectSameError, statusAndCode } from "../harness/status-and-code.ts";

const { h, t, agentId, freshAgent, save } = await useMemories();
const base = `/v1/agents/${agentId}/memories`;

const missingAgent = `ag_${"0".repeat(24)}`;
const missingMemory = `mem_${"0".repeat(24)}`;
const forms = ["a", "b"] as const;
const invalidCode = { a: "invalid_request", b: "validation_failed" };

/** Texts of the agent's memories that a search finds. */
async function find(agent: string, search: string): Promise<string[]> {
  const response = await t.call("GET", `/v1/agents/${agent}/memories?search=${encodeURIComponent(search)}`);
  expect(response.status).toBe(200);
  return response.body.data.map((memory: { text: string }) => memory.text);
}

describe("POST /v1/agents/:agentId/memories", () => {
  test("201 with Location and defaults, the same in both forms", async () => {
    for (const form of forms) {
      const response = await t.call("POST", base, { body: { text: "Likes tea" }, form });
      expect(response.status).toBe(201);
      expect(response.body).toEqual({
        id: expect.stringMatching(/^mem_[0-9a-z]{24}$/),
        tenantId: t.id,
        agentId,
        userId: "",
        text: "Likes tea",
        lastAccessedAt: response.body.createdAt,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        updatedAt: response.body.createdAt,
      });
      expect(response.headers.get("location")).toBe(`${base}/${response.body.id}`);
      expect((await t.call("GET", `${base}/${response.body.id}`, { form })).body).toEqual(response.body);
    }
  });

  test("201 at 10 KiB in bytes, whatever the characters; the text is kept verbatim", async () => {
    for (const text of ["x".repeat(10_240), "é".repeat(5_120), "😀".repeat(2_560), " .", "\r\n\t'\"\\ {{x}} <b>"])
      expect((await save(text)).text).toBe(text);
  });

  test("400 validation_failed (A: invalid_request): broken fields; nothing is saved", async () => {
    const agent = await freshAgent();
    const path = `/v1/agents/${agent}/memories`;
    for (const body of [
      {},
      { text: "" },
      { text: null },
      { text: 7 },
      { text: "x".repeat(10_241) },
      { text: `${"é".repeat(5_120)}x` },
      { text: "😀".repeat(2_561) },
      { text: "a\u0000b" },
      { text: " " },
      { text: "\u00a0\u200b" },
      { text: "x", userId: null },
      { text: "x", userId: "u".repeat(257) },
      { text: "x", metadata: {} },
      [],
    ])
      for (const form of forms)
        expect(statusAndCode(await t.call("POST", path, { body, form }))).toEqual([400, invalidCode[form]]);
    expect(statusAndCode(await t.call("POST", path, { body: '{"text":"\\ud800"}' }))).toEqual([
      400,
      "validation_failed",
    ]);
    expect((await t.call("GET", path)).body).toEqual({ data: [], nextCursor: null });
  });

  test("404 not_found: a missing agent, the same for a foreign one; 400 for a malformed id", async () => {
    const stranger = await h.tenant();
    for (const form of forms) {
      const options = { body: { text: "x" }, form };
      const missing = await t.call("POST", `/v1/agents/${missingAgent}/memories`, options);
      expect(statusAndCode(missing)).toEqual([404, "not_found"]);
      expectSameError(await stranger.call("POST", base, options), missing);
      expect(statusAndCode(await t.call("POST", "/v1/agents/ag_x/memories", options))).toEqual([
        400,
        invalidCode[form],
      ]);
    }
  });

  test("201 at the cap of 500: the least recently accessed goes", async () => {
    const agent = await freshAgent();
    const path = `/v1/agents/${agent}/memories`;
    const ids = await fillMemories(h, t, agent, 500);
    // An update is an access; reading, listing and injection are none.
    await t.call("PATCH", `${path}/${ids[0]}`, { body: { text: "kept" } });
    await t.call("GET", `${path}/${ids[1]}`);
    await t.call("GET", `${path}?search=memory&limit=100`);
    await injectedMemories(h.sql, t.id, agent, "");
    await save("one", "ada", agent);
    expect((await t.call("GET", `${path}/${ids[0]}`)).status).toBe(200);
    expect((await t.call("GET", `${path}/${ids[1]}`)).status).toBe(404);
    expect((await t.call("GET", `${path}/${ids[2]}`)).status).toBe(200);
    await save("two", "", agent);
    expect((await t.call("GET", `${path}/${ids[2]}`)).status).toBe(404);
  });

  test("20 at once at the cap leave exactly 500, the 20 among them", async () => {
    const agent = await freshAgent();
    const ids = await fillMemories(h, t, agent, 495);
    const saved = await Promise.all(Array.from({ length: 20 }, (_, index) => save(`new ${index}`, "", agent)));
    const rows = await h.sql<{ id: string }[]>`select id from memories where agent_id = ${agent}`;
    const left = new Set(rows.map((row) => row.id));
    expect(left.size).toBe(500);
    expect(saved.every(({ id }) => left.has(id))).toBe(true);
    expect(ids.filter((id) => !left.has(id))).toEqual(ids.slice(0, 15));
  });
});

describe("GET /v1/agents/:agentId/memories", () => {
  test("200: newest first, in pages of 50 by default and 100 at most, each memory once", async () => {
    const agent = await freshAgent();
    const path = `/v1/agents/${agent}/memories`;
    const newestFirst = (await fillMemories(h, t, agent, 120)).reverse();
    expect((await t.call("GET", path)).body.data.length).toBe(50);
    for (const form of forms) {
      const seen: string[] = [];
      let cursor = "";
      do {
        const page = await t.call("GET", `${path}?limit=100${cursor}`, { form });
        expect(page.status).toBe(200);
        expect(Object.keys(page.body).sort()).toEqual(["data", "nextCursor"]);
        seen.push(...page.body.data.map((memory: { id: string }) => memory.id));
        cursor = page.body.nextCursor === null ? "" : `&cursor=${page.body.nextCursor}`;
      } while (cursor !== "");
      expect(seen).toEqual(newestFirst);
    }
    const exact = await t.call("GET", `${path}?limit=100&search=${encodeURIComponent("memory 117")}`);
    expect([exact.body.data.length, exact.body.nextCursor]).toEqual([1, null]);
  });

  test("200: userId filters exactly, the empty one selects the tenant-level ones", async () => {
    const agent = await freshAgent();
    await save("general", "", agent);
    await save("of ada", "ada", agent);
    await save("of adam", "adam", agent);
    const texts = async (query: string) =>
      (await t.call("GET", `/v1/agents/${agent}/memories${query}`)).body.data.map((m: { text: string }) => m.text);
    expect(await texts("")).toEqual(["of adam", "of ada", "general"]);
    expect(await texts("?userId=ada")).toEqual(["of ada"]);
    expect(await texts("?userId=")).toEqual(["general"]);
    expect(await texts("?userId=eve")).toEqual([]);
    expect(await texts("?userId=ada&search=OF")).toEqual(["of ada"]);
  });

  test("200: search finds memories with words that begin with all of its words, in any order and case", async () => {
    const agent = await freshAgent();
    const tea = "Ada prefers green TEA/coffee, at ada@example.com";
    const apple = "Äpfel & Crème-brûlée für Łukasz";
    await save(tea, "", agent);
    await save(apple, "", agent);
    for (const search of [
      "tea",
      "Tea GREEN",
      "coffee",
      "ada@example.com",
      "prefers,ada",
      "example com",
      "te",
      "pre coff",
    ])
      expect(await find(agent, search)).toEqual([tea]);
    for (const search of ["äpfel", "ÄPFEL łukasz", "brûlée", "a\u0308pfel", "crème brûlée"])
      expect(await find(agent, search)).toEqual([apple]);
    for (const search of ["eas", "ffee", "teas", "tea milk", "green apple", "äpfel tea", "the"])
      expect(await find(agent, search)).toEqual([]);
  });

  test("200: nothing in a search is an operator, and hostile input is harmless", async () => {
    const agent = await freshAgent();
    const text = "plain words only";
    await save(text, "", agent);
    for (const search of ["plain & words", "plain:* | words!", '"words plain"', "!plain words", "(plain <-> only"])
      expect(await find(agent, search)).toEqual([text]);
    for (const search of ["plain or other", "plain -nothing", "lain%", "plain' or '1'='1", "wor\\ds", "plain | other"])
      expect(await find(agent, search)).toEqual([]);
    for (const search of ["!!!", "&|!()", "   ", "<->", "'", "\\", "x".repeat(10_000), "a ".repeat(3_000)])
      expect(await find(agent, search)).toEqual([]);
  });

  test("200: words too long for the index harm neither saving nor searching", async () => {
    const agent = await freshAgent();
    const long = "y".repeat(5_000);
    await save(`${long} short`, "", agent);
    expect((await find(agent, "short")).length).toBe(1);
    expect((await t.call("GET", `/v1/agents/${agent}/memories?search=${long}`)).status).toBe(200);
  });

  test("400 invalid_cursor, validation_failed (A: invalid_request): broken query fields, a cursor of another list", async () => {
    const bad = ["search=", "limit=0", "limit=101", "limit=x", "limit=1&limit=2", "other=1", "search=%00"];
    for (const query of bad)
      for (const form of forms)
        expect(statusAndCode(await t.call("GET", `${base}?${query}`, { form }))).toEqual([400, invalidCode[form]]);
    const agent = await freshAgent();
    await fillMemories(h, t, agent, 3);
    const path = `/v1/agents/${agent}/memories`;
    const { nextCursor } = (await t.call("GET", `${path}?limit=1`)).body;
    for (const query of [`cursor=${nextCursor}&userId=ada`, `cursor=${nextCursor}&search=x`, "cursor=x", "cursor="])
      expect(statusAndCode(await t.call("GET", `${path}?${query}`))).toEqual([400, "invalid_cursor"]);
    expect(statusAndCode(await t.call("GET", `${base}?cursor=${nextCursor}`))).toEqual([400, "invalid_cursor"]);
    expect(statusAndCode(await t.call("GET", `${base}?cursor=${nextCursor}`, { form: "a" }))).toEqual([
      400,
      "invalid_request",
    ]);
  });

  test("200 with an empty page for a missing and a foreign agent; 400 for a malformed id", async () => {
    await save("present");
    const stranger = await h.tenant();
    for (const response of [
      await t.call("GET", `/v1/agents/${missingAgent}/memories`),
      await stranger.call("GET", base),
    ]) {
      expect(response.status).toBe(200);
      expect(response.body).toEqual({ data: [], nextCursor: null });
    }
    expect(statusAndCode(await t.call("GET", "/v1/agents/x/memories"))).toEqual([400, "validation_failed"]);
  });
});

describe("/v1/agents/:agentId/memories/:memoryId", () => {
  test("GET 200 and listing leave lastAccessedAt as it was", async () => {
    const memory = await save("quiet");
    await t.call("GET", `${base}?search=quiet`);
    expect((await t.call("GET", `${base}/${memory.id}`)).body).toEqual(memory);
    expect((await t.call("GET", `${base}/${memory.id}`, { form: "a" })).body).toEqual(memory);
  });

  test("PATCH 200: the text and the access time move, all else stays", async () => {
    const memory = await save("old words", "ada");
    // A time is told to the millisecond, of which a fast machine makes two calls.
    await eventually(() => Date.now() > Date.parse(memory.updatedAt));
    const response = await t.call("PATCH", `${base}/${memory.id}`, { body: { text: "new saying" } });
    const { updatedAt, lastAccessedAt } = response.body;
    expect([response.status, response.body]).toEqual([
      200,
      { ...memory, text: "new saying", updatedAt, lastAccessedAt },
    ]);
    expect(lastAccessedAt > memory.lastAccessedAt && updatedAt > memory.updatedAt).toBe(true);
    expect(await find(agentId, "old words")).toEqual([]);
    expect(await find(agentId, "new saying")).toEqual(["new saying"]);
  });

  test("400 validation_failed (A: invalid_request): PATCH with broken fields; nothing changes", async () => {
    const memory = await save("steady");
    for (const body of [
      {},
      { text: "" },
      { text: "\u00a0" },
      { text: "x".repeat(10_241) },
      { text: "x", userId: "eve" },
      { userId: "e" },
    ])
      for (const form of forms)
        expect(statusAndCode(await t.call("PATCH", `${base}/${memory.id}`, { body, form }))).toEqual([
          400,
          invalidCode[form],
        ]);
    expect((await t.call("GET", `${base}/${memory.id}`)).body).toEqual(memory);
  });

  test("DELETE 204, then 404", async () => {
    const memory = await save("short-lived");
    const gone = await t.call("DELETE", `${base}/${memory.id}`);
    expect([gone.status, gone.body]).toEqual([204, null]);
    for (const method of ["GET", "DELETE"])
      expect(statusAndCode(await t.call(method, `${base}/${memory.id}`))).toEqual([404, "not_found"]);
  });

  test("404 not_found: alike for missing, foreign, and of another agent; 400 for malformed ids", async () => {
    const memory = await save("private");
    const other = await freshAgent();
    const stranger = await h.tenant();
    for (const method of ["GET", "PATCH", "DELETE"])
      for (const form of forms) {
        const options = method === "PATCH" ? { body: { text: "x" }, form } : { form };
        const missing = await t.call(method, `${base}/${missingMemory}`, options);
        expect(statusAndCode(missing)).toEqual([404, "not_found"]);
        expectSameError(await stranger.call(method, `${base}/${memory.id}`, options), missing);
        expectSameError(await t.call(method, `/v1/agents/${other}/memories/${memory.id}`, options), missing);
        expectSameError(await t.call(method, `/v1/agents/${missingAgent}/memories/${memory.id}`, options), missing);
        expect(statusAndCode(await t.call(method, `${base}/mem_x`, options))).toEqual([400, invalidCode[form]]);
      }
    expect((await t.call("GET", `${base}/${memory.id}`)).body).toEqual(memory);
  });

  test("deleting the agent deletes its memories", async () => {
    const agent = await freshAgent();
    const memory = await save("gone with it", "", agent);
    expect((await t.call("DELETE", `/v1/agents/${agent}`)).status).toBe(204);
    expect((await t.call("GET", `/v1/agents/${agent}/memories`)).body.data).toEqual([]);
    expect(statusAndCode(await t.call("GET", `/v1/agents/${agent}/memories/${memory.id}`))).toEqual([404, "not_found"]);
    expect(await h.sql`select 1 from memories where agent_id = ${agent}`).toHaveLength(0);
  });
});
