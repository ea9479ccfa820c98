import type { AssistantModelMessage, ToolResultPart, UserModelMessage } from "ai";
import { isBlank } from "../../messages/blank.ts";
import type { ThoughtMaker, VendorRules } from "./rules.ts";

export type UserPart = Exclude<UserModelMessage["content"], string>[number];
export type AssistantPart = Exclude<AssistantModelMessage["content"], string>[number];
type OptionedPart = Exclude<AssistantPart, { readonly type: "tool-approval-request" }>;
type Options = NonNullable<OptionedPart["providerOptions"]>;

/** What a message says to whom thoughts are sent as well. */
export interface ThoughtChoice {
  /** Whether the vendor refused thoughts and signatures. */
  readonly none: boolean;
  /** Whether the message is one of the answer that is under way: some vendors want its thoughts back however they are. */
  readonly isRecent: boolean;
}

/** Returns what of a user's message is sent: texts that say something, and files. */
export function userParts(content: UserModelMessage["content"], { alternates }: VendorRules): UserPart[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const sent: UserPart[] = [];
  for (const part of parts) {
    if (part.type === "text" && isBlank(part.text)) continue;
    // What a client says to a vendor beside the text is not for every vendor, and may be anything.
    sent.push(part.providerOptions === undefined ? part : without(part, "providerOptions"));
  }
  return alternates ? joinedTexts(sent) : sent;
}

/** Joins texts to one where there is nothing else: some servers take a message's content as a text alone. */
function joinedTexts(parts: UserPart[]): UserPart[] {
  if (parts.length < 2 || parts.some(({ type }) => type !== "text")) return parts;
  return [{ type: "text", text: parts.map((part) => (part.type === "text" ? part.text : "")).join("\n\n") }];
}

/** Returns what of the assistant's message is sent; its calls are still as the model made them. */
export function assistantParts(
  content: AssistantModelMessage["content"],
  rules: VendorRules,
  thoughts: ThoughtChoice,
): AssistantPart[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const sent: AssistantPart[] = [];
  for (const part of parts) {
    const fit = assistantPart(part, rules, thoughts);
    if (fit !== null) sent.push(fit);
  }
  // A thought at the end led to nothing: Anthropic and OpenAI refuse it there.
  while (sent.length > 0 && isThought(sent.at(-1) as AssistantPart)) sent.pop();
  return sent;
}

function assistantPart(part: AssistantPart, rules: VendorRules, thoughts: ThoughtChoice): AssistantPart | null {
  switch (part.type) {
    case "text":
      return isBlank(part.text) ? null : withOwnOptions(part, rules, thoughts);
    case "reasoning":
      return !thoughts.none && isOwnThought(part, rules, thoughts.isRecent)
        ? withOwnOptions(part, rules, thoughts)
        : null;
    case "file":
    case "reasoning-file":
      return rules.ownFiles && isHeld(part.data) ? withOwnOptions(part, rules, thoughts) : null;
    case "tool-call":
      // What the vendor itself ran, another one cannot place, and its own client has been seen to stumble over it.
      return part.providerExecuted === true ? null : withOwnOptions(part, rules, thoughts);
    case "custom":
      return part.kind.startsWith(`${rules.thoughts}.`) && sentCustoms.has(part.kind) && !thoughts.none ? part : null;
    default:
      return null;
  }
}

/** Parts of vendors' own kinds that their clients send back. */
const sentCustoms = new Set(["anthropic.fallback", "openai.compaction"]);

export function isThought({ type }: AssistantPart): boolean {
  return type === "reasoning" || type === "reasoning-file";
}

/** Returns whether a file is held by the message; a vendor's client sends no address of one that a model made. */
function isHeld(data: unknown): boolean {
  const { type, url } = (data ?? {}) as { readonly type?: unknown; readonly url?: unknown };
  const address = type === "url" ? url : data;
  return !(address instanceof URL) || address.protocol === "data:";
}

/** The keys under which the client of a protocol keeps what its vendor wants back. */
const optionsOf: Readonly<Record<ThoughtMaker, readonly string[]>> = {
  anthropic: ["anthropic", "bedrock", "vertexAnthropic"],
  google: ["google", "vertex", "googleVertex"],
  openai: ["openai", "azure"],
  openrouter: ["openrouter"],
  chat: ["custom", "openaiCompatible"],
  nobody: [],
};

function withOwnOptions<P extends OptionedPart>(part: P, { thoughts: maker }: VendorRules, { none }: ThoughtChoice): P {
  const { providerOptions } = part;
  if (providerOptions === undefined) return part;
  const own = none ? [] : optionsOf[maker].filter((key) => isRecord(providerOptions[key]));
  if (own.length > 0 && own.length === Object.keys(providerOptions).length) return part;
  const rest = without<P, keyof P>(part, "providerOptions");
  return own.length === 0
    ? rest
    : ({ ...rest, providerOptions: Object.fromEntries(own.map((key) => [key, providerOptions[key]])) } as P);
}

/** Returns whether the vendor's protocol made a thought, and takes it back. */
function isOwnThought(
  { text, providerOptions }: Extract<AssistantPart, { readonly type: "reasoning" }>,
  { thoughts: maker }: VendorRules,
  isRecent: boolean,
): boolean {
  if (maker === "chat") return providerOptions === undefined && !isBlank(text);
  const signed = optionsOf[maker].map((key) => providerOptions?.[key]).find(isRecord);
  if (signed === undefined) return false;
  switch (maker) {
    case "anthropic":
      if (isSaid(signed.redactedData)) return true;
      return isSaid(signed.signature) && (isRecent || !isBlank(text));
    case "google":
      return !isBlank(text);
    case "openai":
      return isSaid(signed.itemId) || isSaid(signed.reasoningEncryptedContent);
    case "openrouter":
      return Array.isArray(signed.reasoning_details) && signed.reasoning_details.length > 0;
    default:
      return false;
  }
}

function isSaid(value: unknown): boolean {
  return typeof value === "string" && !isBlank(value);
}

function isRecord(value: unknown): value is Options[string] {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the input of a call as an object: what a model wrote in its place is its only field. */
export function objectInput(input: unknown): object {
  const read = typeof input === "string" ? parsed(input) : input;
  if (isRecord(read)) return read;
  return read === undefined || read === null || read === "" ? {} : { input: read };
}

function parsed(text: string): unknown {
  const start = text.trimStart()[0];
  if (start !== "{" && start !== "[") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What a result is sent as that says nothing. */
const noOutput = "(no output)";

/** Returns a result that says something. */
export function saidOutput(output: ToolResultPart["output"]): ToolResultPart["output"] {
  switch (output.type) {
    case "text":
    case "error-text":
      return isBlank(output.value) ? { type: output.type, value: noOutput } : output;
    case "json":
    case "error-json":
      return output.value === undefined ? { type: output.type, value: null } : output;
    case "content": {
      const value = output.value.filter((part) => part.type !== "text" || !isBlank(part.text));
      if (value.length === 0) return { type: "text", value: noOutput };
      return value.length === output.value.length ? output : { type: "content", value };
    }
    case "execution-denied":
      return output.reason === undefined || !isBlank(output.reason) ? output : { type: "execution-denied" };
    default:
      return output;
  }
}

export function without<T extends object, K extends keyof T>(value: T, key: K): T {
  const { [key]: _, ...rest } = value;
  return rest as unknown as T;
}
