import { describe, expect, test } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { jsonBodyBytesMax } from "../../../src/kernel/limits.ts";
import { eventually } from "../../harness/eventually.ts";
import { useAgent } from "../../harness/fixture.ts";
import type { ApiResponse } from "../../harness/harness.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { open, play, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });
const other = await h.tenant();
const sessionId = (await play(t, agentId, null, { message: userMessage("hi"), stream: false })).sessionId;
const template = "{{one}} {{two}}";
const promptId = (await t.call("POST", "/v1/prompts", { body: { name: "p", template } })).body.id;

const forms = ["a", "b"] as const;
const pathOf = ({ body }: ApiResponse) => body.error?.details?.issues?.[0]?.path;

/** What a refused request must not change. */
async function saved() {
  const [row] = await h.sql`select (select count(*) from sessions) as sessions, (select count(*) from turns) as turns,
    (select count(*) from messages) as messages, (select count(*) from usage) as usage,
    (select count(*) from idempotency_keys) as keys`;
  return row;
}

const image = { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" };
const withParts = (parts: unknown) => ({ message: { id: "m", role: "user", parts } });
const message = userMessage("hi");

/** Bodies that neither endpoint takes, each with the pointer that the response names. */
const broken: [why: string, body: unknown, path: string | undefined][] = [
  ["neither message nor promptId", {}, "/message"],
  ["a body that is no object", [], ""],
  ["null", null, ""],
  ["a text", '"text"', ""],
  ["an unknown field", { message, colour: "red" }, "/colour"],
  ["the AI SDK's unprepared body", { id: "x", messages: [message] }, "/id"],
  ["a null message", { message: null }, "/message"],
  ["message and promptId", { message, promptId: newId("prompt") }, "/promptId"],
  ["variables without promptId", { message, variables: {} }, "/variables"],
  ["a message without id", { message: { role: "user", parts: message.parts } }, "/message/id"],
  ["a message with an empty id", { message: { ...message, id: "" } }, "/message/id"],
  ["an id of 257 characters", { message: { ...message, id: "x".repeat(257) } }, "/message/id"],
  ["another role", { message: { ...message, role: "system" } }, "/message/role"],
  ["a system message", { message: { ...message, role: "system" } }, "/message/role"],
  ["no parts", { message: { id: "m", role: "user" } }, "/message/parts"],
  ["empty parts", withParts([]), "/message/parts"],
  ["a content field", { message: { id: "m", role: "user", content: "hi" } }, "/message/parts"],
  ["an unknown field of the message", { message: { ...message, name: "x" } }, "/message/name"],
  ["a part that is text itself", withParts(["hi"]), "/message/parts/0"],
  ["a part that is an array", withParts([[]]), "/message/parts/0"],
  ["a null part", withParts([message.parts[0], null]), "/message/parts/1"],
  ["a part without type", withParts([{ text: "hi" }]), "/message/parts/0/type"],
  ["a reasoning part", withParts([{ type: "reasoning", text: "hi" }]), "/message/parts/0/type"],
  ["a data part", withParts([{ type: "data-x", data: 1 }]), "/message/parts/0/type"],
  ["a tool part", withParts([{ type: "tool-x", toolCallId: "c" }]), "/message/parts/0/type"],
  ["a text part without text", withParts([{ type: "text" }]), "/message/parts/0/text"],
  ["a text part with a number", withParts([{ type: "text", text: 1 }]), "/message/parts/0/text"],
  ["a PDF", withParts([{ ...image, mediaType: "application/pdf" }]), "/message/parts/0/mediaType"],
  ["a file without media type", withParts([{ type: "file", url: image.url }]), "/message/parts/0/mediaType"],
  ["image/*", withParts([{ ...image, mediaType: "image/*" }]), "/message/parts/0/mediaType"],
  ["a file without url", withParts([{ type: "file", mediaType: "image/png" }]), "/message/parts/0/url"],
  ["an http picture", withParts([{ ...image, url: "http://pictures.test/1.png" }]), "/message/parts/0/url"],
  ["a file: picture", withParts([{ ...image, url: "file:///etc/passwd" }]), "/message/parts/0/url"],
  ["a data URL of a text", withParts([{ ...image, url: "data:text/plain;base64,AAAA" }]), "/message/parts/0/url"],
  ["an image of no bytes", withParts([{ ...image, url: "data:image/png;base64," }]), "/message/parts/0/url"],
  ["padding alone", withParts([{ ...image, url: "data:image/png;base64,==" }]), "/message/parts/0/url"],
  ["a data URL that is not base64", withParts([{ ...image, url: "data:image/png;base64,§" }]), "/message/parts/0/url"],
  ["21 pictures", withParts([message.parts[0], ...Array(21).fill(image)]), "/message/parts/21"],
  ["a malformed promptId", { promptId: "prompt_1" }, "/promptId"],
  ["variables that are no texts", { promptId: newId("prompt"), variables: { a: 1 } }, "/variables/a"],
  ["variables that are an array", { promptId: newId("prompt"), variables: [] }, "/variables"],
  ["an unknown trigger", { message, trigger: "submit" }, "/trigger"],
  ["messageId without regeneration", { message, messageId: "m" }, "/messageId"],
  ["a stream that is a text", { message, stream: "true" }, "/stream"],
  ["a null stream", { message, stream: null }, "/stream"],
  ["a userId that is a number", { message, userId: 7 }, "/userId"],
  ["a userId of 257 characters", { message, userId: "é".repeat(257) }, "/userId"],
  ["metadata that is a text", { message, metadata: "x" }, "/metadata"],
  ["metadata that is an array", { message, metadata: [] }, "/metadata"],
  ["NUL in the text", withParts([{ type: "text", text: "a\0b" }]), "/message/parts/0/text"],
  ["NUL in a further field", withParts([{ type: "text", text: "a", x: ["\0"] }]), "/message/parts/0/x/0"],
  ["NUL in a field's name", { message, metadata: { "a\0": 1 } }, "/metadata"],
  ["a lone surrogate in the text", withParts([{ type: "text", text: "a\ud800" }]), "/message/parts/0/text"],
  ["a lone surrogate in metadata", { message, metadata: { a: "\udc00" } }, "/metadata/a"],
  ["a lone surrogate in userId", { message, userId: "\ud83d" }, "/userId"],
];

const onlyOnCreate: typeof broken = [
  ["regeneration", { trigger: "regenerate-message" }, "/trigger"],
  ["regeneration with a message", { message, trigger: "regenerate-message" }, "/trigger"],
  ["version 0", { message, version: 0 }, "/version"],
  ["version 2147483648", { message, version: 2_147_483_648 }, "/version"],
  ["version 1.5", { message, version: 1.5 }, "/version"],
  ["a version as text", { message, version: "1" }, "/version"],
  ["a null version", { message, version: null }, "/version"],
];

const onlyOnResume: typeof broken = [
  ["a version", { message, version: 1 }, "/version"],
  [
    "regeneration with a prompt",
    { trigger: "regenerate-message", promptId: "prompt_000000000000000000000000" },
    "/promptId",
  ],
  ["regeneration with variables", { trigger: "regenerate-message", variables: {} }, "/variables"],
  ["an empty messageId", { trigger: "regenerate-message", messageId: "" }, "/messageId"],
];

for (const form of forms) {
  const name = form === "a" ? "invalid_request" : "validation_failed";
  const cases = (path: () => string, all: typeof broken) =>
    test.each(all)(`400 ${name}: %s`, async (_why, body, pointer) => {
      const before = await saved();
      const response = await t.call("POST", path(), {
        body,
        form,
        headers: { "idempotency-key": crypto.randomUUID() },
      });
      expect([response.status, response.body?.error?.code, pathOf(response)]).toEqual([400, name, pointer]);
      expect(response.headers.get("content-type")).toStartWith("application/json");
      expect(response.headers.get("x-turn-id")).toBeNull();
      expect(await saved()).toEqual(before);
    });

  describe(`POST /v1/agents/:agentId/sessions, form ${form}`, () => {
    cases(() => sessionPath(agentId, null), [...broken, ...onlyOnCreate]);
  });
  describe(`POST /v1/agents/:agentId/sessions/:sessionId, form ${form}`, () => {
    cases(() => sessionPath(agentId, sessionId), [...broken, ...onlyOnResume]);
  });

  describe(`turns that are refused, form ${form}`, () => {
    test(`400 ${name}: bodies that are no JSON, other media types, malformed ids and query fields`, async () => {
      const post = (path: string, body: unknown, headers = {}) => t.call("POST", path, { body, form, headers });
      const path = sessionPath(agentId, null);
      const before = await saved();
      expect(statusAndCode(await post(path, "{"))).toEqual([400, name]);
      expect(statusAndCode(await post(path, JSON.stringify({ message }), { "content-type": "text/plain" }))).toEqual([
        400,
        name,
      ]);
      expect(statusAndCode(await post(`${path}?stream=true`, { message }))).toEqual([400, name]);
      expect(statusAndCode(await post("/v1/agents/ag_1/sessions", { message }))).toEqual([400, name]);
      expect(statusAndCode(await post(`${path}/ss_1`, { message }))).toEqual([400, name]);
      expect(statusAndCode(await post(path, { message }, { "idempotency-key": "" }))).toEqual([400, name]);
      expect(statusAndCode(await t.call("POST", path, { body: { message }, headers: { "api-form": "c" } }))[0]).toBe(
        400,
      );
      expect(await saved()).toEqual(before);
    });

    test("404 not_found, agent_version_not_found (A: AGENT_VERSION_NOT_FOUND): what is missing, foreign or deleted", async () => {
      const post = (path: string, body: object) => t.call("POST", path, { body, form });
      const foreign = await makeAgent(h, other);
      const gone = await play(t, agentId, null, { message: userMessage("x"), stream: false });
      await t.call("DELETE", sessionPath(agentId, gone.sessionId, "?deleteArtifacts=false"), { form: "b" });
      const sibling = await makeAgent(h, t);
      // Its purge ends some time after the response.
      await eventually(async () => (await h.sql`select 1 from sessions where id = ${gone.sessionId}`).length === 0);
      const theirs = await other.call("POST", "/v1/prompts", { body: { name: newId("prompt"), template: "x" } });
      const before = await saved();
      for (const path of [
        sessionPath(newId("agent"), null),
        sessionPath(foreign, null),
        sessionPath(agentId, newId("session")),
        sessionPath(agentId, gone.sessionId),
        sessionPath(sibling, sessionId),
        sessionPath(foreign, sessionId),
      ])
        expect(statusAndCode(await post(path, { message }))).toEqual([404, "not_found"]);
      for (const promptId of [newId("prompt"), theirs.body.id])
        expect(statusAndCode(await post(sessionPath(agentId, null), { promptId }))).toEqual([404, "not_found"]);
      expect(statusAndCode(await post(sessionPath(agentId, null), { message, version: 2 }))).toEqual([
        404,
        form === "a" ? "AGENT_VERSION_NOT_FOUND" : "agent_version_not_found",
      ]);
      expect(await saved()).toEqual(before);
    });

    test("400 prompt_variable_missing, prompt_variable_unknown (A: invalid_request): variables that are missing or unknown", async () => {
      const before = await saved();
      const ask = (variables?: object) =>
        t.call("POST", sessionPath(agentId, null), { body: { promptId, variables }, form });
      const inB = (spelt: string) => (form === "a" ? "invalid_request" : spelt);
      expect(statusAndCode(await ask())).toEqual([400, inB("prompt_variable_missing")]);
      expect(statusAndCode(await ask({ one: "1" }))).toEqual([400, inB("prompt_variable_missing")]);
      expect(statusAndCode(await ask({ one: "1", two: "2", three: "3" }))).toEqual([
        400,
        inB("prompt_variable_unknown"),
      ]);
      expect(await saved()).toEqual(before);
    });

    test("409 agent_disabled (A: AGENT_DISABLED): also on resume; the session stays readable", async () => {
      const agent = await makeAgent(h, t);
      const { sessionId: session } = await play(t, agent, null, { message: userMessage("x"), stream: false });
      await t.call("POST", `/v1/agents/${agent}/disable`);
      const before = await saved();
      const spelt = form === "a" ? "AGENT_DISABLED" : "agent_disabled";
      for (const id of [null, session])
        expect(statusAndCode(await t.call("POST", sessionPath(agent, id), { body: { message }, form }))).toEqual([
          409,
          spelt,
        ]);
      expect((await t.call("GET", sessionPath(agent, session, "/messages"), { form })).status).toBe(200);
      expect(await saved()).toEqual(before);
    });

    test("400 provider_required, 404 provider_not_found, workspace_not_found: what an agent has lost, or never had", async () => {
      const before = await saved();
      const turn = async (agent: string) =>
        statusAndCode(await t.call("POST", sessionPath(agent, null), { body: { message }, form }));
      const bare = await t.call("POST", "/v1/agents", { body: { name: newId("agent") }, form: "b" });
      expect(await turn(bare.body.id)).toEqual(form === "a" ? [502, "provider_error"] : [400, "provider_required"]);

      const lost = await makeAgent(h, t);
      await h.sql`delete from providers p using agent_versions v where v.agent_id = ${lost} and p.id = v.provider_id`;
      expect(await turn(lost)).toEqual([404, form === "a" ? "not_found" : "provider_not_found"]);

      const homeless = await makeAgent(h, t, { tools: ["workspace"] });
      await h.sql`update agents set workspace_id = null where id = ${homeless}`;
      expect(await turn(homeless)).toEqual(form === "a" ? [409, "SANDBOX_REQUIRED"] : [404, "workspace_not_found"]);
      expect(await saved()).toEqual(before);
    });

    test("409 session_busy (A: SESSION_BUSY): while another turn runs; nothing of the refused one is kept", async () => {
      const live = await open(h, t, "POST", sessionPath(agentId, null), {
        body: { message: script('text="a b" hangAfterChunks=1') },
        form,
      });
      await live.until("text-delta");
      const before = await saved();
      const spelt = form === "a" ? "SESSION_BUSY" : "session_busy";
      const path = sessionPath(agentId, live.sessionId);
      for (const body of [{ message }, { message, stream: false }, { trigger: "regenerate-message" }])
        expect(statusAndCode(await t.call("POST", path, { body, form }))).toEqual([409, spelt]);
      expect(await saved()).toEqual(before);
      await t.call("POST", `${path}/cancel`, { form });
      await live.rest();
    });
  });
}

test("401 unauthorized: before anything else; no credential, a wrong one, another scheme", async () => {
  const path = sessionPath(agentId, null);
  for (const headers of [{}, { authorization: `Basic ${t.token}` }, { authorization: "Bearer parley_x" }])
    expect(statusAndCode(await t.call("POST", path, { body: "{", token: null, headers }))).toEqual([
      401,
      "unauthorized",
    ]);
});

describe("a body of the largest size", () => {
  test("413 payload_too_large: beyond 8 MiB, announced or not; 8 MiB is accepted", async () => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
    const body = (bytes: number) => {
      const message = { ...userMessage(""), id: "long" };
      const frame = JSON.stringify({ message, stream: false }).length;
      return JSON.stringify({
        message: { ...message, parts: [{ type: "text", text: "x".repeat(bytes - frame) }] },
        stream: false,
      });
    };
    const path = sessionPath(agentId, sessionId);
    const fits = await t.call("POST", path, { body: body(jsonBodyBytesMax) });
    expect([fits.status, fits.body.error]).toEqual([200, undefined]);
    const [stored] = await h.sql<{ characters: number }[]>`
      select length(content -> 'parts' -> 0 ->> 'text') as characters from messages
      where session_id = ${sessionId} and role = 'user' order by seq desc limit 1`;
    expect(stored?.characters).toBeGreaterThan(jsonBodyBytesMax - 200);
    const over = body(jsonBodyBytesMax + 1);
    for (const form of forms)
      expect(statusAndCode(await t.call("POST", path, { body: over, form }))).toEqual([413, "payload_too_large"]);
    const streamed = await h.app(
      new Request(`http://parley.test${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${t.token}`, "content-type": "application/json" },
        body: new Blob([over]).stream(),
      }),
    );
    expect(streamed.status).toBe(413);
  });
});
