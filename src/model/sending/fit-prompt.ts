import type {
  AssistantModelMessage,
  ModelMessage,
  ToolCallPart,
  ToolModelMessage,
  ToolResultPart,
  UserModelMessage,
} from "ai";
import { GiveWay } from "../../kernel/async/give-way.ts";
import { isBlank } from "../../messages/blank.ts";
import { CallIds, type ToolNames } from "./call-names.ts";
import { type AssistantPart, assistantParts, isThought, objectInput, saidOutput, userParts } from "./fit-parts.ts";
import type { VendorRules } from "./rules.ts";

/** What is known of a request beside its messages. */
export interface FitRequest {
  readonly rules: VendorRules;
  readonly names: ToolNames;
  readonly thoughts: SentThoughts;
}

/**
 * Which thoughts are sent: those that the vendor made (`own`), no thoughts and signatures at all because it refused
 * them (`none`), or its own and, to an answer that has none, a blank one, because it wants one with each (`each`).
 */
export type SentThoughts = "own" | "none" | "each";

/** What stands where a vendor wants words that were never said. */
const noAnswer = "(no answer)";
const goOn = "(go on)";
const begin = "(the conversation began earlier)";

/**
 * Returns messages as a vendor takes them, by its rules and by those that all have: no blank text and no message
 * without content; the first message is the user's, and the last is the user's or has results; every call has one
 * result, directly after it; ids of calls are unique, and their inputs are objects. What is stored stays as it
 * was said. Gives way to other work: 100,000 calls in their steps take a second.
 */
export async function fitMessages(messages: readonly ModelMessage[], request: FitRequest): Promise<ModelMessage[]> {
  const way = new GiveWay();
  const fitting = new Fitting(
    request,
    messages.at(-1)?.role === "tool" ? messages.findLastIndex(({ role }) => role === "user") : messages.length,
  );
  for (const [index, message] of messages.entries()) {
    const isPlain = fitting.take(message, index);
    if (isPlain && index % plainPerLook > 0) continue;
    const turn = way.next();
    if (turn !== null) await turn;
  }
  return fitting.end();
}

/** Messages that are sent as they are take 0.1 µs each: the clock is looked at after this many. */
const plainPerLook = 1_024;

/** A message of the assistant that is being put together with its results. */
interface Draft {
  readonly parts: AssistantPart[];
  /** Its calls by their ids, those aside that have a result: two may have the same. */
  readonly open: Map<string, { readonly calls: ToolCallPart[]; answered: number }>;
  readonly results: Map<ToolCallPart, ToolResultPart>;
}

class Fitting {
  readonly #request: FitRequest;
  readonly #ids: CallIds;
  readonly #lastAsked: number;
  readonly #sent: ModelMessage[] = [];
  #draft: Draft | null = null;

  constructor(request: FitRequest, lastAsked: number) {
    this.#request = request;
    this.#ids = new CallIds(request.rules.callId);
    this.#lastAsked = lastAsked;
  }

  /** Returns whether it is sent as it is. */
  take(message: ModelMessage, index: number): boolean {
    const isPlain = this.#isPlain(message);
    if (isPlain) this.#sent.push(message);
    else this.#fit(message, index);
    return isPlain;
  }

  #fit(message: ModelMessage, index: number): void {
    switch (message.role) {
      case "user":
        this.#user(message);
        break;
      case "assistant":
        this.#assistant(message, index > this.#lastAsked);
        break;
      case "tool":
        this.#results(message);
        break;
      default:
        if (!isBlank(message.content)) this.#sent.push(message);
    }
  }

  end(): ModelMessage[] {
    this.#close();
    if (this.#sent.at(-1)?.role !== "user" && this.#sent.at(-1)?.role !== "tool") this.#say(goOn);
    const { messagesMax } = this.#request.rules;
    return messagesMax === null ? this.#sent : newest(this.#sent, messagesMax);
  }

  /** Returns whether a message is one text that comes in its turn, so that it is sent as it is: of most transcripts all are. */
  #isPlain({ role, content, providerOptions }: ModelMessage): boolean {
    if ((role !== "user" && role !== "assistant") || content.length !== 1 || providerOptions !== undefined)
      return false;
    if (this.#draft !== null || this.#request.thoughts === "each") return false;
    const part = content[0];
    if (typeof part !== "object" || part.type !== "text" || part.providerOptions !== undefined) return false;
    const before = this.#sent.at(-1)?.role;
    return (role === "user" ? before !== "user" && before !== "tool" : before === "user") && !isBlank(part.text);
  }

  #user(message: UserModelMessage): void {
    const parts = userParts(message.content, this.#request.rules);
    if (parts.length === 0) return;
    this.#close();
    const before = this.#sent.at(-1)?.role;
    if ((before === "tool" || before === "user") && this.#request.rules.answersAll) this.#answer(noAnswer);
    this.#sent.push(
      parts === message.content && message.providerOptions === undefined ? message : { role: "user", content: parts },
    );
  }

  #assistant(message: AssistantModelMessage, isRecent: boolean): void {
    const { rules, thoughts } = this.#request;
    const parts = assistantParts(message.content, rules, { none: thoughts === "none", isRecent });
    if (parts.length === 0) return;
    // Words between a call and its result, and those after an answer without calls, are one message with it.
    const { results, open } = this.#draft ?? {};
    if ((results?.size ?? 0) > 0 || (!rules.alternates && (open?.size ?? 0) === 0)) this.#close();
    this.#draft ??= { parts: this.#takeBack(), open: new Map(), results: new Map() };
    addWords(this.#draft.parts, parts);
    for (const part of parts) {
      if (part.type !== "tool-call") continue;
      const { open } = this.#draft;
      const same = open.get(part.toolCallId);
      if (same === undefined) open.set(part.toolCallId, { calls: [part], answered: 0 });
      else same.calls.push(part);
    }
  }

  /** Returns what the assistant's message before this one says, which becomes one with it. */
  #takeBack(): AssistantPart[] {
    const last = this.#sent.at(-1);
    if (last?.role !== "assistant" || !this.#request.rules.alternates) return [];
    this.#sent.pop();
    return [...(last.content as AssistantPart[])];
  }

  #results({ content }: ToolModelMessage): void {
    const draft = this.#draft;
    if (draft === null) return;
    for (const part of content) {
      if (part.type !== "tool-result") continue;
      const same = draft.open.get(part.toolCallId);
      const call = same?.calls[same.answered];
      if (same === undefined || call === undefined) continue;
      same.answered += 1;
      draft.results.set(call, part);
    }
  }

  /** Ends the assistant's message: calls without a result are left out, because every vendor refuses them. */
  #close(): void {
    const draft = this.#draft;
    this.#draft = null;
    if (draft === null) return;
    const parts = draft.parts.filter((part) => part.type !== "tool-call" || draft.results.has(part));
    while (parts.length > 0 && isThought(parts.at(-1) as AssistantPart)) parts.pop();
    if (parts.length === 0) return;
    const named = new Map<ToolCallPart, Pick<ToolCallPart, "toolCallId" | "toolName">>();
    const content = parts.map((part) => {
      if (part.type !== "tool-call") return part;
      const names = {
        toolCallId: this.#ids.take(part.toolCallId),
        toolName: this.#request.names.sentOf(part.toolName),
      };
      named.set(part, names);
      return { ...part, ...names, input: objectInput(part.input) };
    });
    this.#answer(content);
    if (draft.results.size === 0) return;
    const results = [...draft.results].map(([call, { output }]): ToolResultPart => {
      const names = named.get(call) as Pick<ToolCallPart, "toolCallId" | "toolName">;
      return { type: "tool-result", ...names, output: saidOutput(output) };
    });
    this.#sent.push({ role: "tool", content: results });
  }

  #answer(content: string | AssistantPart[]): void {
    if (this.#sent.length === 0) this.#say(begin);
    const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    const { thoughts } = this.#request;
    const lacksThought = thoughts === "each" && !parts.some(isThought);
    const options = lacksThought ? { providerOptions: { openaiCompatible: { reasoning_content: " " } } } : {};
    this.#sent.push({ role: "assistant", content: parts, ...options });
  }

  #say(text: string): void {
    this.#sent.push({ role: "user", content: [{ type: "text", text }] });
  }
}

/** Adds parts of a later message; two texts that would stand together are parted. */
function addWords(parts: AssistantPart[], more: readonly AssistantPart[]): void {
  const last = parts.at(-1);
  if (last?.type === "text" && more[0]?.type === "text")
    parts[parts.length - 1] = { ...last, text: `${last.text}\n\n` };
  for (const part of more) parts.push(part);
}

/** Returns the newest messages, from a user's on. */
function newest(messages: ModelMessage[], count: number): ModelMessage[] {
  if (messages.length <= count) return messages;
  const from = messages.findIndex(({ role }, index) => index >= messages.length - count && role === "user");
  return from === -1 ? messages : messages.slice(from);
}
