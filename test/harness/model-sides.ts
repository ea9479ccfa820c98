import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  convertToModelMessages,
  InvalidToolInputError,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  NoSuchToolError,
  streamText,
  type TextStreamPart,
  type ToolSet,
  tool,
  toUIMessageChunk,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import type { UiMessage } from "../../src/messages/ui-message.ts";
import { describeModelError } from "../../src/model/describe-error.ts";
import { type ModelRequest, type ModelResult, runModel } from "../../src/model/run-model.ts";
import type { CallUsage } from "../../src/model/token-counts.ts";
import type { SimulatedModel } from "../../src/simulated-model/server.ts";
import { ToolError, unusableCall } from "../../src/tools/error.ts";
import { decideCall } from "../../src/tools/policy.ts";
import type { TurnTool } from "../../src/tools/tool.ts";
import { startVendor, type VendorRequest } from "../servers/vendor.ts";
import { eventually } from "./eventually.ts";

/** A model behind HTTP, and what arrived there. */
export interface Stage {
  readonly model: LanguageModel;
  bodies(): readonly unknown[];
  /** Forgets the requests, and starts again with the first response. */
  clear(): void;
}

/** What a model is to answer to, by us and by the SDK. */
export interface Scene {
  readonly messages: readonly UiMessage[];
  readonly modelCallsMax?: number;
  readonly instructions?: string;
  readonly withoutTools?: boolean;
  /** Aborts before the call, when the request has arrived, when the tool `hang` has begun, or when a chunk has come. */
  readonly abort?: "before" | "asked" | "in tool" | ((chunk: UIMessageChunk) => boolean);
  /** Called with each chunk. */
  readonly saw?: (chunk: UIMessageChunk) => void;
}

/** What came of a scene, but for ids, which differ each time. */
export interface Side {
  /** All chunks, the last one included; of an answer that was stopped, those before its end. */
  readonly chunks: readonly UIMessageChunk[];
  /** The requests that arrived at the model. */
  readonly bodies: readonly unknown[];
  /** The tools that ran, in the order in which they began. */
  readonly ran: readonly string[];
  /** What the provider says of the steps that were completed. */
  readonly used: { readonly inputTokens: number; readonly outputTokens: number };
  readonly ended: ModelResult["ended"];
}

/** Plays a scene by `runModel` and by the SDK's `streamText`. */
export async function bothSides(
  stage: Stage,
  scene: Scene,
): Promise<{
  ours: Side;
  sdk: Side;
  /** What our side metered, call by call. */
  usages: readonly CallUsage[];
  /** Ours as it came, ids, words and all. */
  raw: Pick<Side, "chunks" | "bodies">;
}> {
  stage.clear();
  const ourPlay = new Play(stage, scene);
  const result = await runModel(ourPlay.request, (chunk) => ourPlay.saw(chunk));
  const { ended } = result;
  if (ended !== "aborted") ourPlay.chunks.push(result.lastChunk as UIMessageChunk);
  const ours = ourPlay.side(stage, ourPlay.used, ended);
  const raw = { chunks: ourPlay.chunks, bodies: stage.bodies() };
  stage.clear();
  return { ours, sdk: await bySdk(stage, scene), usages: ourPlay.usages, raw };
}

async function bySdk(stage: Stage, scene: Scene): Promise<Side> {
  const play = new Play(stage, scene);
  const { request } = play;
  const tools: ToolSet = Object.fromEntries(request.tools.map((offered) => [offered.name, offered.tool]));
  const stream = streamText({
    model: request.model,
    messages: await convertToModelMessages(request.messages as unknown as UIMessage[], {
      ignoreIncompleteToolCalls: true,
    }),
    abortSignal: request.signal,
    maxRetries: 1,
    stopWhen: isStepCount(request.modelCallsMax),
    tools,
    toolApproval: ({ toolCall }) => approvalBySdk(request, toolCall.toolName),
    ...(request.instructions === "" ? {} : { instructions: request.instructions }),
    onError: () => {},
  }).stream;
  const used = { inputTokens: 0, outputTokens: 0 };
  let ended: ModelResult["ended"] = "finished";
  const invalid = new Set<string>();
  try {
    for await (const part of stream) {
      if (part.type === "finish-step") {
        used.inputTokens += part.usage.inputTokens ?? 0;
        used.outputTokens += part.usage.outputTokens ?? 0;
      }
      if (isSaid(part, invalid)) continue;
      const chunk = toUIMessageChunk(part, { tools, sendSources: true, onError: wordsOf });
      if (chunk === undefined || ended !== "finished") continue;
      if (chunk.type === "error") ended = "failed";
      if (chunk.type === "abort") ended = "aborted";
      // A call of a tool that nobody has ends as a dynamic one there too; ours begins as one.
      else if (chunk.type === "tool-input-start" && chunk.dynamic === false) play.saw({ ...chunk, dynamic: true });
      else play.saw(chunk);
    }
  } catch (error) {
    ended = "failed";
    play.saw({ type: "error", errorText: describeModelError(error) });
  }
  return play.side(stage, used, ended);
}

/** Parts of the SDK that say nothing new: a reader has a `start` from the turn, and an unusable call's error with the call. Those of a vendor's bookkeeping are for nobody, and an automatic denial is told once. */
function isSaid(part: TextStreamPart<ToolSet>, invalid: Set<string>): boolean {
  if (part.type === "tool-call" && part.invalid === true) invalid.add(part.toolCallId);
  const told = ["start", "custom", "tool-approval-response"];
  return told.includes(part.type) || (part.type === "tool-error" && invalid.has(part.toolCallId));
}

function wordsOf(error: unknown): string {
  if (error instanceof ToolError) return error.message;
  if (NoSuchToolError.isInstance(error) || InvalidToolInputError.isInstance(error)) return unusableCall(error).message;
  return typeof error === "string" ? error : describeModelError(error);
}

function approvalBySdk({ tools, policy }: ModelRequest, name: string) {
  const found = tools.find((offered) => offered.name === name);
  const decision = found === undefined ? "run" : decideCall(policy, found);
  if (decision === "run") return undefined;
  if (decision === "ask") return "user-approval" as const;
  return { type: "denied", reason: "The agent's approval policy does not allow this tool." } as const;
}

/** One side's run of a scene, with tools of its own. */
class Play {
  readonly chunks: UIMessageChunk[] = [];
  readonly usages: CallUsage[] = [];
  readonly used = { inputTokens: 0, outputTokens: 0 };
  readonly request: ModelRequest;
  readonly #ran: string[] = [];
  readonly #stop = new AbortController();
  readonly #abort: Scene["abort"];
  readonly #saw: Scene["saw"];
  readonly #quickIsTold = Promise.withResolvers<void>();

  constructor({ model, bodies }: Stage, scene: Scene) {
    this.#abort = scene.abort;
    this.#saw = scene.saw;
    if (scene.abort === "before") this.#stop.abort();
    if (scene.abort === "asked") void eventually(() => bodies().length === 1).then(() => this.#stop.abort());
    const last = scene.messages.at(-1);
    this.request = {
      model,
      instructions: scene.instructions ?? "",
      messages: scene.messages,
      thinking: {},
      chain: [],
      format: null,
      messageId: last?.role === "assistant" ? last.id : "answer",
      signal: this.#stop.signal,
      download: () => Promise.resolve([]),
      extended: last?.role === "assistant" ? last : null,
      reached: null,
      afterStep: () => Promise.resolve(),
      tools: scene.withoutTools === true ? [] : this.#tools(),
      policy: {
        default: "full",
        overrides: [
          { tool: "ask", mcpConnectionId: null, mode: "manual" },
          { tool: "never", mcpConnectionId: null, mode: "deny" },
        ],
      },
      canAsk: true,
      modelCallsMax: scene.modelCallsMax ?? 10,
      meter: {
        beforeCall: () => Promise.resolve(),
        // The SDK knows no estimates.
        onCall: (usage) => {
          this.usages.push(usage);
          const { inputTokens, outputTokens, estimated } = usage;
          this.used.inputTokens += estimated ? 0 : inputTokens;
          this.used.outputTokens += estimated ? 0 : outputTokens;
        },
      },
      beforeTool: () => Promise.resolve(),
    };
  }

  saw(chunk: UIMessageChunk): void {
    this.chunks.push(chunk);
    this.#saw?.(chunk);
    if (chunk.type === "tool-output-available" && chunk.output === "quick is done") this.#quickIsTold.resolve();
    // Not before the next chunk is waited for: aborts come in the middle of that.
    if (typeof this.#abort === "function" && this.#abort(chunk)) setTimeout(() => this.#stop.abort());
  }

  side(stage: Stage, used: Side["used"], ended: Side["ended"]): Side {
    // A call is sent with an id that the vendor takes, which may be another one than the reader's.
    const [chunks, bodies] = [withoutIds(this.chunks), withoutIds(stage.bodies())];
    return { chunks, bodies, ran: this.#ran, used, ended };
  }

  /** `slow` ends only after the result of `quick` was emitted; `hang` never ends, whether its signal is aborted or not. */
  #tools(): TurnTool[] {
    return [
      this.#tool("add", async (input) => {
        const { a, b } = input as { a: number; b: number };
        return { sum: a + b };
      }),
      this.#tool("quick", async () => "quick is done"),
      this.#tool("slow", async () => {
        await this.#quickIsTold.promise;
        return "slow is done";
      }),
      this.#tool("fail", async () => {
        throw new ToolError("The shelf is empty.");
      }),
      this.#tool("ask", async () => "allowed"),
      this.#tool("never", async () => "this must not be"),
      this.#tool("nothing", async () => undefined),
      this.#tool("hang", () => {
        if (this.#abort === "in tool") this.#stop.abort();
        return new Promise(() => {});
      }),
    ];
  }

  #tool(name: string, work: (input: unknown) => Promise<unknown>): TurnTool {
    const execute = (input: unknown) => {
      this.#ran.push(name);
      return work(input);
    };
    const about = { description: `Does ${name}.`, title: `To ${name}`, metadata: { shelf: name } };
    const made = tool({ ...about, inputSchema: inputOf(name), execute });
    return { name, tool: made as TurnTool["tool"], source: { kind: "builtin" }, readOnly: true };
  }
}

function inputOf(name: string) {
  const number = { type: "number" } as const;
  if (name !== "add" && name !== "ask") return jsonSchema<unknown>({ type: "object", properties: {} });
  const names = name === "add" ? ["a", "b"] : ["a"];
  const properties = Object.fromEntries(names.map((field) => [field, number]));
  return jsonSchema<unknown>(
    { type: "object", properties, required: names },
    {
      validate: (value) => {
        const fits = names.every((field) => typeof (value as Record<string, unknown>)[field] === "number");
        return fits ? { success: true, value } : { success: false, error: new Error("Not all are numbers.") };
      },
    },
  );
}

const idFields = new Set(["id", "approvalId", "tool_call_id", "call_id"]);
const madeUp = /\b(?:call|msg|rs|fc|resp)_[0-9a-f-]{20,}/g;
const unusable =
  /^(?:(?:{"error":")?(?:The tool's input is not valid|There is no tool)|.*Invalid input for tool|.*unavailable tool)/s;

/** Numbers ids in the order in which they appear, and leaves out the wording of an unusable call's error. */
function withoutIds<T>(value: T): T {
  const numbers = new Map<string, string>();
  const numbered = (id: string) => {
    if (!numbers.has(id)) numbers.set(id, `id-${numbers.size + 1}`);
    return numbers.get(id);
  };
  return JSON.parse(
    JSON.stringify(value, (key, field) => {
      if (typeof field !== "string") return field;
      if (unusable.test(field)) return "(an unusable call)";
      return idFields.has(key) ? numbered(field) : field.replace(madeUp, (id) => `${numbered(id)}`);
    }),
  );
}

/** The simulated model by Chat Completions and by Responses. */
export function simulatedStages(server: SimulatedModel): ReadonlyMap<"chat" | "responses", Stage> {
  const stage = (model: LanguageModel): Stage => ({
    model,
    bodies: () => server.requests().map(({ body }) => body),
    clear: () => server.clear(),
  });
  const settings = { baseURL: server.url, apiKey: "key" };
  return new Map([
    ["chat", stage(createOpenAICompatible({ ...settings, name: "custom", includeUsage: true })("simulated/model"))],
    ["responses", stage(createOpenAI(settings).responses("gpt-5"))],
  ]);
}

/** A vendor of the test's own, which gives its responses one after another. */
export async function onVendor<T>(
  responses: readonly ((request: VendorRequest) => Response | Promise<Response>)[],
  modelAt: (url: string) => LanguageModel,
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  const server = startVendor((request) => {
    const respond = responses[server.requests.length - 1];
    return respond === undefined ? new Response("Nothing more was asked for.", { status: 400 }) : respond(request);
  });
  try {
    return await work({
      model: modelAt(server.url),
      bodies: () => server.requests.map(({ body }) => body),
      clear: () => void server.requests.splice(0),
    });
  } finally {
    await server.stop();
  }
}
