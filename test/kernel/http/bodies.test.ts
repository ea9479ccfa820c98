import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { databaseWaitMs } from "../../../src/kernel/limits.ts";
import { form as multipart, skillMd, zip } from "../../harness/archives.ts";
import { useAgent } from "../../harness/fixture.ts";
import type { ApiResponse } from "../../harness/harness.ts";
import { inProcess } from "../../harness/runtimes.ts";
import { userMessage } from "../../harness/seed.ts";
import { sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });

const problem = ({ status, body }: ApiResponse) => [status, body.error?.code, body.error?.details?.issues?.[0]?.path];

describe("a number that overflows", () => {
  const bodies = [
    ["POST", () => "/v1/agents", '{"name":"n","metadata":{"a":[{"b":1e400}]}}', "/metadata/a/0/b"],
    ["POST", () => "/v1/prompts", '{"name":"n","template":"x","metadata":{"a":-1e999}}', "/metadata/a"],
    [
      "POST",
      () => sessionPath(agentId, null),
      '{"message":{"id":"m","role":"user","parts":[{"type":"text","text":"x","k":1e400}]}}',
      "/message/parts/0/k",
    ],
    ["PUT", () => `/v1/agents/${agentId}`, '{"compactionReserveTokens":1e999}', "/compactionReserveTokens"],
  ] as const;
  for (const [method, path, body, pointer] of bodies)
    test(`400 validation_failed: names ${pointer}`, async () => {
      expect(problem(await t.call(method, path(), { body }))).toEqual([400, "validation_failed", pointer]);
    });

  test("400 validation_failed: in a form's JSON field", async () => {
    const parts = { file: zip([{ name: "SKILL.md", data: skillMd() }]), metadata: '{"a":1e400}' };
    const response = await t.call("POST", "/v1/skills", { body: multipart(parts) });
    expect(problem(response)).toEqual([400, "validation_failed", "/metadata/a"]);
  });

  test("one of more digits than a double has stays a number, the nearest", async () => {
    const body = '{"name":"big","template":"x","metadata":{"id":12345678901234567890}}';
    const made = await t.call("POST", "/v1/prompts", { body });
    expect([made.status, made.body.metadata]).toEqual([201, { id: 12345678901234567000 }]);
  });
});

describe("metadata", () => {
  const limit = 64 * 1024;
  /** Metadata of so many bytes as JSON, in characters of two bytes. */
  const metadata = (bytes: number) => ({ a: "é".repeat(Math.floor((bytes - 8) / 2)) + "x".repeat(bytes % 2) });
  const resources: readonly [method: string, path: () => string, fields: () => object][] = [
    ["POST", () => "/v1/agents", () => ({ name: crypto.randomUUID() })],
    ["PUT", () => `/v1/agents/${agentId}`, () => ({})],
    ["POST", () => "/v1/prompts", () => ({ name: crypto.randomUUID(), template: "x" })],
    ["POST", () => "/v1/workspaces", () => ({})],
    ["POST", () => "/v1/tasks", () => ({ agentId, name: "n", prompt: "x" })],
    ["POST", () => sessionPath(agentId, null), () => ({ message: userMessage("x") })],
    ["POST", () => `/v1/agents/${agentId}/generate`, () => ({ messages: [userMessage("x")] })],
  ];
  for (const [method, path, fields] of resources)
    test(`${method} ${path().replace("undefined", ":agentId")} takes ${limit} bytes of it as JSON, and not one more`, async () => {
      for (const bytes of [limit, limit + 1]) expect(Buffer.byteLength(JSON.stringify(metadata(bytes)))).toBe(bytes);
      const ask = (bytes: number) => t.call(method, path(), { body: { ...fields(), metadata: metadata(bytes) } });
      expect(problem(await ask(limit + 1))).toEqual([400, "validation_failed", "/metadata"]);
      // A turn is left to run; that it was accepted is what counts.
      const response = await ask(limit);
      expect([method, response.status < 300, response.body?.error]).toEqual([method, true, undefined]);
    });

  test("400 validation_failed: one that is no object", async () => {
    for (const value of [[], "x", 1, null])
      expect(
        problem(await t.call("POST", "/v1/prompts", { body: { name: "m", template: "x", metadata: value } })),
      ).toEqual([400, "validation_failed", "/metadata"]);
  });
});

describe("an unknown field", () => {
  test("400 validation_failed: its name is shortened, in the message too", async () => {
    const name = "x".repeat(1_000_000);
    for (const body of [{ [name]: 1 }, { ["/".repeat(1_000_000)]: 1 }, { [`${"x".repeat(99)}😀${name}`]: 1 }]) {
      const response = await t.call("POST", "/v1/prompts", { body: { name: "n", template: "x", ...body } });
      expect(response.status).toBe(400);
      const [issue] = response.body.error.details.issues;
      expect(issue.message).toBe("is not a known field");
      expect(issue.path).toEndWith("…");
      expect(issue.path.isWellFormed()).toBe(true);
      expect(JSON.stringify(response.body).length).toBeLessThan(4_000);
    }
    const query = await t.call("GET", `/v1/prompts?${"x".repeat(5_000)}=1`);
    expect([query.status, query.body.error.details.issues[0].path]).toEqual([400, `${"x".repeat(100)}…`]);
  });
});

describe.skipIf(!inProcess)("a body that comes slowly", () => {
  afterEach(() => void setSystemTime());

  test("takes nothing of the time that its request waits for the database", async () => {
    // The key is known from here on, so the body is read before the key is looked up.
    expect((await t.call("POST", sessionPath(agentId, null), { body: { message: userMessage("hi") } })).status).toBe(
      201,
    );
    const text = JSON.stringify({ message: userMessage("slow") });
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      setSystemTime(Date.now() + 2 * databaseWaitMs);
      controller.enqueue(Buffer.from(text));
      controller.close();
    };
    const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
    const headers = { authorization: `Bearer ${t.token}`, "content-type": "application/json" };
    const path = sessionPath(newId("agent"), null);
    const response = await h.app(new Request(`http://parley.test${path}`, { method: "POST", headers, body }));
    expect(response.status).toBe(404);
  });
});
