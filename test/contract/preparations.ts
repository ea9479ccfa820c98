import type { Form } from "../../src/kernel/errors.ts";
import { form as multipart } from "../harness/archives.ts";
import { userMessage } from "../harness/seed.ts";
import { textTool } from "../servers/mcp.ts";
import { skillZip } from "./calls.ts";
import { newDelivery } from "./outside.ts";
import type { Scene } from "./scene.ts";
import type { Call } from "./world.ts";

type Prepare = (s: Scene, value: unknown, form: Form) => Promise<Partial<Call>> | Partial<Call>;

/** So many rules, each for a tool of its own that the agent's server has. */
const policy =
  (field: string): Prepare =>
  async (s, value) => {
    const tools = (value as unknown[]).map((_, n) => `tool${n}`);
    s.w.mcp.settings.tools = tools.map((name) => textTool(name));
    const mcpConnectionId = await s.theMcp();
    const overrides = tools.map((tool) => ({ tool, mcpConnectionId, mode: "deny" }));
    return { body: { mcpConnectionIds: [mcpConnectionId], [field]: { default: "full", overrides } } };
  };
/** A text field of a library skill's multipart form. */
const ofEntry =
  (name: string, write: (value: unknown) => string): Prepare =>
  (_, value) => ({ body: multipart({ file: skillZip(), [name]: write(value) }) });
/** An address that is filled up to this length. */
const padded = (url: string, value: unknown) => url.padEnd((value as string).length, "k");

/** Fills a field, where more than the field itself must fit. Keyed by pointer, or by operation and pointer. */
/** A response format with this field, and a message to which the simulated model answers with an object. */
const formatted = (field: "name" | "schema", message: "message" | "messages" | null): Prepare => {
  return (_, value) => {
    // Made anew each time: a session takes an id of a message once.
    const asked = userMessage('[[sim: text="{}"]]');
    return {
      body: {
        responseFormat: { type: "json_schema", schema: {}, [field]: value },
        ...(message === null ? {} : { [message]: message === "message" ? asked : [asked] }),
      },
    };
  };
};
const formattedAt = (op: string, message: "message" | "messages") => ({
  [`${op} /responseFormat/name`]: formatted("name", message),
  [`${op} /responseFormat/schema`]: formatted("schema", message),
});

export const preparations: Readonly<Record<string, Prepare>> = {
  ...formattedAt("POST /v1/agents/:agentId/sessions", "message"),
  ...formattedAt("POST /v1/agents/:agentId/sessions/:sessionId", "message"),
  ...formattedAt("POST /v1/agents/:agentId/generate", "messages"),
  "/text/format/schema": (_, schema) => ({
    body: { input: '[[sim: text="{}"]]', text: { format: { type: "json_schema", name: "any", schema } } },
  }),
  "/responseFormat/name": formatted("name", null),
  "/responseFormat/schema": formatted("schema", null),
  "/schedule/config/everyMs": (_, everyMs) => ({ body: { schedule: { kind: "interval", config: { everyMs } } } }),
  "/origins": (_, value) => ({
    body: { origins: (value as unknown[]).map((_, place) => `https://page-${place}.example.com`) },
  }),
  "/questions/0": (_, question) => ({ body: { questions: [question] } }),
  "/origins/0": (_, value) => ({ body: { origins: [padded("https://page", value)] } }),
  "/expectedAttempt": async (s, expectedAttempt) => ({
    params: await newDelivery(s, { attempt: Math.max(0, Math.min(99, Number(expectedAttempt))) }),
    body: { expectedAttempt },
  }),
  // Form A's models name their vendor.
  "/model": (_, value, form) => ({
    body: { model: form === "a" ? `v/${[...(value as string)].slice(2).join("")}` : value },
  }),
  "/approvalInChat/overrides": policy("approvalInChat"),
  "/approvalInTasks/overrides": policy("approvalInTasks"),
  "/turnLimits/maxModelCalls": (_, maxModelCalls) => ({ body: { turnLimits: { maxModelCalls } } }),
  "/turnLimits/maxTokens": (_, maxTokens) => ({ body: { turnLimits: { maxTokens } } }),
  "/turnLimits/maxSeconds": (_, maxSeconds) => ({ body: { turnLimits: { maxSeconds } } }),
  "/modelSettings/maxOutputTokens": (_, maxOutputTokens) => ({ body: { modelSettings: { maxOutputTokens } } }),
  "/modelSettings/seed": (_, seed) => ({ body: { modelSettings: { seed } } }),
  "/modelSettings/temperature": (_, temperature) => ({ body: { modelSettings: { temperature } } }),
  "/modelSettings/topP": (_, topP) => ({ body: { modelSettings: { topP } } }),
  "/modelSettings/stopSequences": (_, value) => ({
    body: { modelSettings: { stopSequences: (value as unknown[]).map((_one, n) => `stop ${n}`) } },
  }),
  "/fallbackModels": async (s, value) => {
    const providerId = await s.theProvider();
    return { body: { fallbackModels: (value as unknown[]).map((_, n) => ({ providerId, model: `m${n}` })) } };
  },
  "/can": (_, value) => ({ body: { can: (value as unknown[]).map(() => "forks") } }),
  "/clientTools": (_, value) => ({
    body: {
      clientTools: (value as unknown[]).map((_one, n) => ({
        name: `tool_${n}`,
        description: "Asks the caller.",
        inputSchema: { type: "object" },
      })),
    },
  }),
  "POST /v1/agents/:agentId/sessions/:sessionId/tool-calls/:toolCallId /errorText": (_, errorText) => ({
    body: { output: undefined, errorText },
  }),
  "/message/id": (_, id) => ({ body: { message: { ...userMessage("hi"), id } } }),
  "/messages/0/id": (_, id) => ({ body: { messages: [{ ...userMessage("hi"), id }] } }),
  "/message/metadata": (_, metadata) => ({ body: { message: { ...userMessage("hi"), metadata } } }),
  "/messages/0/metadata": (_, metadata) => ({ body: { messages: [{ ...userMessage("hi"), metadata }] } }),
  "/baseUrl": (s, value) => ({ body: { baseUrl: padded(`${s.w.h.model.url}/`, value) } }),
  "/url": (s, value) => ({ body: { url: padded(`${s.w.mcp.url}?`, value) } }),
  "/bearerToken": (_, bearerToken) => ({ body: { authType: "bearer", bearerToken } }),
  "/scope": (_, scope) => ({ body: { authType: "oauth_authorization_code", scope } }),
  "/configuration/approverIds": (_, value) => ({
    body: { configuration: { approverIds: (value as unknown[]).map((_one, n) => `U${n}`) } },
  }),
  "/configuration/channelIds": (_, value) => ({
    body: { configuration: { channelIds: (value as unknown[]).map((_one, n) => `C${n}`) } },
  }),
  "POST /v1/skills /userId": ofEntry("userId", String),
  "POST /v1/skills /metadata": ofEntry("metadata", JSON.stringify),
  "PUT /v1/skills/:skillId /metadata": ofEntry("metadata", JSON.stringify),
};
