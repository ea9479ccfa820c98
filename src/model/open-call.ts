import type { LanguageModelCallOptions, ModelMessage } from "ai";
import { prepareRetries } from "ai/internal";
import { isBlank } from "../messages/blank.ts";
import type { ModelSettings } from "../providers/model-settings.ts";
import type { CallMeter } from "./call-meter.ts";
import { withDenials } from "./denied-calls.ts";
import { haveFiles, haveOwnFiles, withoutFiles, withTakenFiles } from "./files-taken.ts";
import { languagePrompt } from "./language-prompt.ts";
import type { ModelCallRequest, ToolChoice } from "./model-call-request.ts";
import type { Model, ModelPart } from "./model-part.ts";
import { cacheKeyOptions, withMarks } from "./prompt-cache.ts";
import { formatSettings } from "./response-format.ts";
import { fitMessages } from "./sending/fit-prompt.ts";
import { type FitTool, type FitTools, fitTools, type ToolDefinition } from "./sending/fit-tools.ts";
import { namedTools } from "./sending/named-tools.ts";
import {
  isOfFiles,
  isOfThoughts,
  lostFileOf,
  mayBeOfTools,
  otherThoughts,
  type Refusal,
  refusalOf,
  type Way,
} from "./sending/refusals.ts";
import { withOwnFields } from "./sending/renamed-fields.ts";
import { rulesOf, type VendorRules } from "./sending/rules.ts";
import { SaidParts } from "./sending/said.ts";
import { knownRefused, neverTaken, noteRefused, noteTaken } from "./sending/taken-tools.ts";
import type { ThinkingSettings } from "./thinking.ts";
import type { FailedCall } from "./vendor-failure.ts";

/** A call whose response has begun. */
export interface OpenedCall {
  readonly stream: ReadableStream<ModelPart>;
  readonly said: SaidParts;
  /** Of its response. */
  readonly headers: FailedCall["headers"];
}

/** A request to the provider that failed before its response began is tried once more. */
const providerRetriesMax = 1;
/** A request that the provider refuses is sent in at most this many other ways. */
const otherWaysMax = 5;
/** Of those in at most this many without the tools that the vendor's words name. */
const namedRoundsMax = 2;

/**
 * Sends a request, made fit for the model's vendor, and returns the call once its response begins. A request that
 * the vendor refuses is sent again without what may be the reason: thoughts and signatures where its words are
 * about them, the tools that its words name, those that it has never taken, the files that tools returned, all files; without
 * files also where one of an earlier message cannot be fetched.
 * What helped is kept for the turn. Throws what the provider's client threw first.
 */
export async function openCall(model: Model, request: ModelCallRequest, meter: CallMeter): Promise<OpenedCall> {
  const { signal, refusals, messages } = request;
  const reasonOf = (error: unknown) => refusalOf(error) ?? lostFileOf(error, messages);
  const rules = rulesOf(model);
  const tools = await fitTools(request.tools, rules);
  refusals.leftOut(tools.leftOut);
  const { retry } = prepareRetries({ maxRetries: request.retriesMax ?? providerRetriesMax, abortSignal: signal });
  const asked = new Asked(model, request, { rules, tools });
  const send = (way: Way) => retry(() => asked.send(way, meter));
  const said = new SaidParts(tools, rules);
  const opened = ({ stream, response }: Answer) => ({
    ...{ stream: withOwnFields(stream, tools), said },
    headers: response?.headers,
  });
  let way = asked.firstWay();
  try {
    return opened(await send(way));
  } catch (first) {
    let refusal = reasonOf(first);
    for (let other = 0; other < otherWaysMax && refusal !== null && !signal.aborted; other++) {
      const next = await asked.otherWay(way, refusal);
      if (next === null) break;
      try {
        const answer = await send(next);
        asked.keep(next);
        return opened(answer);
      } catch (error) {
        const again = reasonOf(error);
        // Its words are about something else now, so that much was right.
        if (again !== null && (asked.isNamed(next) || (next.thoughts !== way.thoughts && !isOfThoughts(again))))
          way = next;
        refusal = again;
      }
    }
    throw first;
  }
}

type Answer = Awaited<ReturnType<Model["doStream"]>>;

/** One request, in the ways in which it is sent. */
class Asked {
  readonly #model: Model;
  readonly #request: ModelCallRequest;
  readonly #rules: VendorRules;
  readonly #tools: FitTools;
  readonly #tried = new Set<"thoughts" | "tools" | "results' files" | "files">();
  /** The tools that the vendor's words named, and the last way in which they were left out. */
  readonly #named = new Set<FitTool>();
  #namedWay: Way | null = null;
  #namedRounds = 0;
  /** Whether the messages that were sent last hold what their vendor signed or thought. */
  #hasThoughts = false;

  constructor(model: Model, request: ModelCallRequest, { rules, tools }: { rules: VendorRules; tools: FitTools }) {
    this.#model = model;
    this.#request = request;
    this.#rules = rules;
    this.#tools = tools;
  }

  async send(way: Way, meter: CallMeter): Promise<Answer> {
    const model = this.#model;
    const { instructions, download, signal, spans, cache = null, toolChoice = "auto" } = this.#request;
    const messages = await this.#messages(way);
    this.#hasThoughts = messages.some(hasThoughts);
    const made = await languagePrompt({
      instructions: isBlank(instructions) ? "" : instructions,
      messages,
      supportedUrls: await model.supportedUrls,
      download,
      abortSignal: signal,
      provider: model.provider.split(".", 1)[0] as string,
    });
    const offered = this.#offered(way);
    const stubs = offered.length === 0 && this.#rules.callsNeedTools ? stubsOf(messages) : [];
    const definitions = offered.length === 0 ? stubs : offered.map(({ definition }) => definition);
    const whole = { prompt: made, tools: definitions };
    const { prompt, tools } = cache === null ? whole : withMarks(whole, this.#rules, cache);
    spans.start(model, prompt);
    const settings = settingsOf(model, this.#request);
    meter.begin({ prompt, tools: tools.length === 0 ? undefined : tools, format: settings.responseFormat });
    try {
      const answer = await model.doStream({
        prompt,
        abortSignal: signal,
        toolChoice: stubs.length > 0 ? { type: "none" } : choiceFor(toolChoice, offered),
        ...(tools.length === 0 ? {} : { tools: [...tools] }),
        ...settings,
      });
      noteTaken(model, offered);
      return answer;
    } catch (error) {
      meter.fail(error);
      if (!signal.aborted) this.#request.onCallFailed({ error });
      throw error;
    }
  }

  /** Returns another way to send what was refused; null where there is none that may help. */
  async otherWay(way: Way, refusal: Refusal): Promise<Way | null> {
    if (isOfThoughts(refusal) && !this.#tried.has("thoughts")) {
      const next = { ...way, thoughts: otherThoughts(refusal, way.thoughts) };
      this.#tried.add("thoughts");
      if (await this.#hasOthers(next)) return next;
    }
    const ofFiles = isOfFiles(refusal) ? this.#fewerFiles(way) : null;
    return ofFiles ?? (mayBeOfTools(refusal) ? this.#fewerTools(way, refusal) : null) ?? this.#fewerFiles(way);
  }

  /** Returns a way without the tools that a refusal names, and where it names none, without those that were never taken. */
  #fewerTools(way: Way, { words }: Refusal): Way | null {
    const offered = this.#offered(way);
    const named =
      this.#namedRounds < namedRoundsMax ? namedTools(words, offered, neverTaken(this.#model, offered)) : [];
    if (named.length > 0) {
      this.#namedRounds += 1;
      for (const tool of named) this.#named.add(tool);
      this.#namedWay = without(way, named);
      return this.#namedWay;
    }
    if (this.#tried.has("tools")) return null;
    this.#tried.add("tools");
    const never = neverTaken(this.#model, offered);
    return never.length === 0 ? null : without(way, never);
  }

  #fewerFiles(way: Way): Way | null {
    const { messages } = this.#request;
    if (way.files === "all" && !this.#tried.has("results' files")) {
      this.#tried.add("results' files");
      if (haveFiles(withTakenFiles(messages, this.#model, false))) return { ...way, files: "own" };
    }
    if (way.files === "none" || this.#tried.has("files")) return null;
    this.#tried.add("files");
    return haveOwnFiles(messages) ? { ...way, files: "none" } : null;
  }

  /** Returns the way to begin with: without what the model has refused by name, be it in another turn. */
  firstWay(): Way {
    const { refusals } = this.#request;
    const way = refusals.wayOf(this.#model);
    const refused = knownRefused(this.#model, this.#offered(way));
    refusals.leftOut(refused.map(({ name: tool }) => ({ tool, reason: leftOutReason })));
    return refused.length === 0 ? way : without(way, refused);
  }

  /** Returns whether a way is the one without the tools that the vendor's words named: so much of it was right. */
  isNamed(way: Way): boolean {
    return way === this.#namedWay;
  }

  /** Returns whether other thoughts are sent in this way than were sent last: what is sent as before is refused as before. */
  async #hasOthers(next: Way): Promise<boolean> {
    switch (next.thoughts) {
      case "none":
        return this.#hasThoughts;
      case "each":
        return this.#rules.thoughts === "chat" && this.#request.messages.some(({ role }) => role === "assistant");
      case "own":
        return (await this.#messages(next)).some(hasThoughts);
    }
  }

  /** The vendor took the request in this way. */
  keep(way: Way): void {
    const { refusals } = this.#request;
    refusals.keep(this.#model, way, this.#tried.has("thoughts") && this.#rules.thoughts === "chat");
    noteRefused(
      this.#model,
      [...this.#named].filter(({ name }) => way.withoutTools.has(name)),
    );
    refusals.leftOut([...way.withoutTools].map((tool) => ({ tool, reason: leftOutReason })));
  }

  #offered({ withoutTools }: Way): readonly FitTool[] {
    const { offered } = this.#tools;
    return withoutTools.size === 0 ? offered : offered.filter(({ name }) => !withoutTools.has(name));
  }

  async #messages({ files, thoughts }: Way): Promise<ModelMessage[]> {
    const { messages, cache } = this.#request;
    const told = cache == null ? messages : messages.map(withDenials);
    const taken = withTakenFiles(told, this.#model, files !== "all");
    return fitMessages(files === "none" ? withoutFiles(taken) : taken, {
      rules: this.#rules,
      names: this.#tools.names,
      thoughts,
    });
  }
}

const leftOutReason = "The vendor refused a request with it.";

function without(way: Way, tools: readonly FitTool[]): Way {
  return { ...way, withoutTools: new Set([...way.withoutTools, ...tools.map(({ name }) => name)]) };
}

/** Returns whether a message holds what its vendor signed or thought. */
function hasThoughts({ role, content, providerOptions }: ModelMessage): boolean {
  if (role !== "assistant") return false;
  return providerOptions !== undefined || (typeof content !== "string" && content.some(isSigned));
}

function isSigned(part: { readonly type: string; readonly providerOptions?: unknown }): boolean {
  return part.type === "reasoning" || part.providerOptions !== undefined;
}

/** Returns definitions of the tools that were called, for a vendor that takes no call without them. */
function stubsOf(messages: readonly ModelMessage[]): ToolDefinition[] {
  const names = new Set<string>();
  for (const { role, content } of messages)
    if (role === "tool") for (const part of content) if (part.type === "tool-result") names.add(part.toolName);
  return [...names].map((name) => ({
    type: "function",
    name,
    description: "No longer available.",
    inputSchema: { type: "object", properties: {} },
  }));
}

function choiceFor(choice: ToolChoice, offered: readonly FitTool[]) {
  if (typeof choice === "string")
    return { type: choice === "required" && offered.length === 0 ? ("auto" as const) : choice };
  const tool = offered.find(({ name }) => name === choice.tool);
  return tool === undefined ? { type: "auto" as const } : { type: "tool" as const, toolName: tool.definition.name };
}

type CallSettings = ThinkingSettings &
  Pick<LanguageModelCallOptions, keyof ModelSettings> &
  Partial<Pick<ReturnType<typeof formatSettings>, "responseFormat">>;

/** Returns the settings of a call that are not its prompt. */
function settingsOf(model: Model, { thinking, format, cache = null, settings = {} }: ModelCallRequest): CallSettings {
  const { stopSequences, ...rest } = settings;
  const asked = format === null ? null : formatSettings(format);
  const named = { ...thinking.providerOptions } as Record<string, object>;
  const more = [asked?.providerOptions ?? {}, cache === null ? {} : cacheKeyOptions(model.provider, cache)];
  for (const [provider, options] of more.flatMap(Object.entries)) named[provider] = { ...named[provider], ...options };
  return {
    ...rest,
    ...(stopSequences === undefined ? {} : { stopSequences: [...stopSequences] }),
    ...thinking,
    ...(asked === null ? {} : { responseFormat: asked.responseFormat }),
    ...(Object.keys(named).length === 0
      ? {}
      : { providerOptions: named as NonNullable<ThinkingSettings["providerOptions"]> }),
  };
}
