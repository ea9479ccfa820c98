import { describe, expect, test } from "bun:test";
import { tx } from "../../src/kernel/database/transaction.ts";
import { newId } from "../../src/kernel/ids.ts";
import { injectedMemories } from "../../src/memories/inject.ts";
import { memoryTools } from "../../src/memories/tools.ts";
import type { ToolScope } from "../../src/tools/tool.ts";
import { useMemories } from "../harness/memory-fixture.ts";
import { fillMemories } from "../harness/seed.ts";

const { h, t, agentId, freshAgent, save } = await useMemories();
const missingMemory = `mem_${"0".repeat(24)}`;

describe("injected memories", () => {
  test("the tenant-level ones and the session user's, the oldest first, untouched", async () => {
    const agent = await freshAgent();
    expect(await injectedMemories(h.sql, t.id, agent, "ada")).toBe("");
    const general = await save("The office is in Kiel.", "", agent);
    const own = await save("Ada drinks tea.", "ada", agent);
    await save("Bob drinks rum.", "bob", agent);
    const text = await injectedMemories(h.sql, t.id, agent, "ada");
    expect(text).toContain("Ada drinks tea.");
    expect(text.indexOf("Ada drinks tea.")).toBeGreaterThan(text.indexOf("The office is in Kiel."));
    expect(text).not.toContain("Bob");
    expect(await injectedMemories(h.sql, t.id, agent, "")).not.toContain("drinks");
    expect(await injectedMemories(h.sql, (await h.tenant()).id, agent, "ada")).toBe("");
    for (const memory of [general, own])
      expect((await t.call("GET", `/v1/agents/${agent}/memories/${memory.id}`)).body).toEqual(memory);
  });

  test("bounded: what was accessed least recently is left out", async () => {
    const agent = await freshAgent();
    for (let place = 0; place < 8; place++) await save(`${place}${"x".repeat(10_000)}`, "", agent);
    const text = await injectedMemories(h.sql, t.id, agent, "");
    expect(text.length).toBeLessThan(70_000);
    expect(text).toContain(`7${"x".repeat(10_000)}`);
    expect(text).not.toContain(`0${"x".repeat(10_000)}`);
  });
});

describe("the tool group memory", () => {
  function toolsOf(agent: string, userId: string) {
    const scope = {
      ctx: h.ctx,
      tenantId: t.id,
      agentId: agent,
      sessionId: null,
      turnId: newId("turn"),
      attempt: 1,
      userId,
      metadata: {},
      workspaceId: null,
      write: (work) => tx(h.sql, work),
    } satisfies ToolScope;
    const tools = new Map(memoryTools(scope).map((made) => [made.name, made]));
    return async (name: string, input: unknown) => {
      const made = tools.get(name)?.tool as unknown as {
        inputSchema: { validate(value: unknown): Promise<{ success: boolean; value: unknown; error: Error }> };
        execute(input: unknown, options: object): Promise<unknown>;
      };
      const checked = await made.inputSchema.validate(input);
      if (!checked.success) throw checked.error;
      // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely.
      return (await made.execute(checked.value, {})) as any;
    };
  }

  test("names, and which are read-only", () => {
    const scope = { ctx: h.ctx, tenantId: t.id, agentId, userId: "" } as ToolScope;
    expect(memoryTools(scope).map(({ name, readOnly }) => [name, readOnly])).toEqual([
      ["memory_save", false],
      ["memory_search", true],
      ["memory_update", false],
      ["memory_delete", false],
    ]);
  });

  test("memory_save stores under the session's user; search and update count as access", async () => {
    const agent = await freshAgent();
    const use = toolsOf(agent, "ada");
    const { memoryId } = await use("memory_save", { text: "Ada's cat is Tom\u0000" });
    const path = `/v1/agents/${agent}/memories/${memoryId}`;
    const saved = (await t.call("GET", path)).body;
    expect(saved).toMatchObject({ userId: "ada", text: "Ada's cat is Tom\uFFFD" });
    expect(await use("memory_search", { query: "CAT tom" })).toEqual({ memories: [{ memoryId, text: saved.text }] });
    const searched = (await t.call("GET", path)).body;
    expect(searched.lastAccessedAt > saved.lastAccessedAt).toBe(true);
    expect(searched.updatedAt).toBe(saved.updatedAt);
    await use("memory_update", { memoryId, text: "Ada's dog is Rex" });
    const updated = (await t.call("GET", path)).body;
    expect(updated).toMatchObject({ text: "Ada's dog is Rex", userId: "ada" });
    expect(updated.lastAccessedAt > searched.lastAccessedAt).toBe(true);
    expect(await use("memory_delete", { memoryId })).toEqual({ deleted: true });
    expect((await t.call("GET", path)).status).toBe(404);
  });

  test("another user's memories are out of reach, tenant-level ones are not", async () => {
    const agent = await freshAgent();
    const general = await save("shared fact", "", agent);
    const foreign = await save("secret fact", "bob", agent);
    const use = toolsOf(agent, "ada");
    expect((await use("memory_search", { query: "fact" })).memories).toEqual([
      { memoryId: general.id, text: "shared fact" },
    ]);
    for (const [name, input] of [
      ["memory_update", { memoryId: foreign.id, text: "x" }],
      ["memory_delete", { memoryId: foreign.id }],
    ] as const)
      await expect(use(name, input)).rejects.toThrow("There is no such");
    expect((await t.call("GET", `/v1/agents/${agent}/memories/${foreign.id}`)).body).toEqual(foreign);
    const tenantLevel = toolsOf(agent, "");
    expect((await tenantLevel("memory_search", { query: "fact" })).memories).toHaveLength(1);
    await use("memory_update", { memoryId: general.id, text: "shared news" });
  });

  test("wrong input is refused before anything runs", async () => {
    const use = toolsOf(agentId, "");
    for (const [name, input] of [
      ["memory_save", {}],
      ["memory_save", { text: "" }],
      ["memory_save", { text: "\u200b\n" }],
      ["memory_save", { text: "x".repeat(10_241) }],
      ["memory_save", { text: "x", userId: "bob" }],
      ["memory_search", { query: "" }],
      ["memory_update", { memoryId: missingMemory }],
      ["memory_update", { memoryId: "mem_x", text: "y" }],
      ["memory_delete", { memoryId: 7 }],
    ] as const)
      await expect(use(name, input)).rejects.toThrow();
  });

  test("a search returns at most 20 memories and says so", async () => {
    const agent = await freshAgent();
    const ids = await fillMemories(h, t, agent, 30);
    const { memories, note } = await toolsOf(agent, "")("memory_search", { query: "memory" });
    expect(memories.map((memory: { memoryId: string }) => memory.memoryId)).toEqual(ids.reverse().slice(0, 20));
    expect(note).toContain("20");
  });

  test("searches and saves that meet each other all end", async () => {
    const agent = await freshAgent();
    await fillMemories(h, t, agent, 500);
    const use = toolsOf(agent, "");
    const work = Array.from({ length: 24 }, (_, index) =>
      index % 3 === 0 ? use("memory_save", { text: `memory ${index}` }) : use("memory_search", { query: "memory" }),
    );
    await Promise.all(work);
    const [count] = await h.sql`select count(*)::int as n from memories where agent_id = ${agent}`;
    expect(count?.n).toBe(500);
  });
});
