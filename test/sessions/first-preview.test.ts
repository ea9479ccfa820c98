import { describe, expect, test } from "bun:test";
import { useAgent } from "../harness/fixture.ts";
import { userMessage } from "../harness/seed.ts";
import { play, script, sessionPath } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });

async function previewOf(sessionId: string, form: "a" | "b" = "b"): Promise<string> {
  const read = await t.call("GET", sessionPath(agentId, sessionId), { form });
  const listed = await t.call("GET", `/v1/agents/${agentId}/sessions?limit=200`, { form });
  const shown = listed.body.data.find(({ id }: { id: string }) => id === sessionId);
  expect(shown.firstMessagePreview).toBe(read.body.firstMessagePreview);
  return read.body.firstMessagePreview;
}

const begin = async (text: string, form: "a" | "b" = "b") =>
  (await play(t, agentId, null, { message: userMessage(text) }, { form })).sessionId;
const forget = (sessionId: string) => h.sql`update sessions set first_message_preview = null where id = ${sessionId}`;

describe("the preview of the message that a session began with", () => {
  test.each(["a", "b"] as const)("is one line, and stays when the session goes on, form %s", async (form) => {
    const sessionId = await begin("  What\n\ntime   is it? ", form);
    await play(t, agentId, sessionId, { message: userMessage("And now?") });
    expect(await previewOf(sessionId, form)).toBe("What time is it?");
    await forget(sessionId);
    expect(await previewOf(sessionId, form)).toBe("What time is it?");
  });

  test.each([
    ["x".repeat(500), "x".repeat(200)],
    ["😀".repeat(500), "😀".repeat(200)],
    [`x${"😀".repeat(500)}`, `x${"😀".repeat(199)}`],
    [`x${" ".repeat(19_998)}😀`, "x"],
  ])("has at most 200 characters, and no half of one: %#", async (text, preview) => {
    const sessionId = await begin(text);
    expect(await previewOf(sessionId)).toBe(preview);
    await forget(sessionId);
    expect((await previewOf(sessionId)).slice(0, 200)).toBe(preview.slice(0, 200));
  });

  test("is shown although the first turn failed, and after a second one that did not", async () => {
    const failing = script("fail=400");
    const { sessionId } = await play(t, agentId, null, { message: failing });
    expect(await previewOf(sessionId)).toBe(failing.parts[0]?.text as string);
    await play(t, agentId, sessionId, { message: userMessage("Again.") });
    for (let round = 0; round < 2; round++) {
      expect(await previewOf(sessionId)).toBe(failing.parts[0]?.text as string);
      await forget(sessionId);
    }
  });

  test("of a picture is empty", async () => {
    const parts = [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" }];
    const { sessionId } = await play(t, agentId, null, { message: { id: "m-1", role: "user", parts } });
    expect(await previewOf(sessionId)).toBe("");
  });

  test("of a fork is that of its own transcript", async () => {
    const sessionId = await begin("Hello.");
    const failed = await play(t, agentId, null, { message: script("fail=400") });
    await play(t, agentId, failed.sessionId, { message: userMessage("Once more.") });
    for (const [source, preview] of [
      [sessionId, "Hello."],
      [failed.sessionId, "Once more."],
    ] as const) {
      const { body } = await t.call("POST", sessionPath(agentId, source, "/fork"), { body: {} });
      expect(body.firstMessagePreview).toBe(preview);
      await play(t, agentId, body.id, { message: userMessage("Further.") });
      expect(await previewOf(body.id)).toBe(preview);
      await forget(body.id);
      expect(await previewOf(body.id)).toBe(preview);
    }
  });

  test("of a response that is deleted is gone, also from what branched from it", async () => {
    const ask = async (input: unknown, more = {}) =>
      (await t.call("POST", "/v1/responses", { body: { model: agentId, input, ...more } })).body;
    const sessionOf = async (response: { id: string }) => {
      const [row] = await h.sql<{ sessionId: string }[]>`
        select session_id from turns where id = ${`turn_${response.id.slice(response.id.indexOf("_") + 1)}`}`;
      return row?.sessionId as string;
    };
    const first = await ask("Secret words.");
    const second = await ask("Plain words.", { previous_response_id: first.id });
    const branch = await ask("Other words.", { previous_response_id: first.id });
    const [own, copied] = [await sessionOf(second), await sessionOf(branch)];
    expect([await previewOf(own), await previewOf(copied)]).toEqual(["Secret words.", "Secret words."]);
    expect((await t.call("DELETE", `/v1/responses/${first.id}`)).status).toBe(200);
    expect([await previewOf(own), await previewOf(copied)]).toEqual(["Plain words.", "Other words."]);
  });

  test("of a conversation that is sent along is its first message's", async () => {
    const input = [
      { role: "user", content: "First." },
      { role: "assistant", content: "Yes?" },
      { role: "user", content: "Last." },
    ];
    const { body } = await t.call("POST", "/v1/responses", { body: { model: agentId, input } });
    expect(body.status).toBe("completed");
    const { data } = (await t.call("GET", `/v1/agents/${agentId}/sessions?limit=1`)).body;
    expect(data[0].firstMessagePreview).toBe("First.");
  });
});
