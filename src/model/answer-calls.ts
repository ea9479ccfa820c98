import { type FinishReason, generateId, type ToolSet } from "ai";
import { parseToolCall } from "ai/internal";
import { isUnchecked } from "../kernel/json-schema.ts";
import { toolInputBytesMax } from "../kernel/limits.ts";
import { ToolError, unusableCall } from "../tools/error.ts";
import type { ModelCallRequest } from "./model-call-request.ts";
import type { ModelPart } from "./model-part.ts";
import type { AnswerPart } from "./step-record.ts";
import { withoutBookkeeping } from "./vendor-metadata.ts";

export type ToolCallPart = Extract<AnswerPart, { type: "tool-call" }>;
type SaidCall = Extract<ModelPart, { type: "tool-call" }>;
type Result = Extract<ModelPart, { type: "tool-result" }>;
type InputStart = Extract<ModelPart, { type: "tool-input-start" }>;

/** A call as far as its input has come in pieces. */
interface WrittenCall {
  readonly start: InputStart;
  readonly pieces: string[];
  length: number;
}

/**
 * The tool calls of one answer. What the model wrote of an input is the input: some clients put
 * `{}` in the place of one that was cut off, or leave its call out. A call whose input is not whole
 * waits for the end of the answer, which says whether it was cut off.
 */
export class AnswerCalls {
  readonly #request: ModelCallRequest;
  readonly #written = new Map<string, WrittenCall>();
  /** The ids that calls have in place of those that another call of the answer has. */
  readonly #renamed = new Map<string, string>();
  readonly #begun = new Set<string>();
  readonly #held: SaidCall[] = [];
  readonly #made = new Map<string, ToolCallPart>();
  /** The last call, where no word of its input came: it may be that of a tool without input, or cut off before the first. */
  #wordless: ToolCallPart | null = null;
  /** Calls that the vendor runs itself, and whether their result came. */
  readonly #vendors = new Map<string, boolean>();
  /** Whether a call was made that can run, or waits for a person. */
  any = false;
  /** Whether a call was cut off. */
  isCut = false;

  constructor(request: ModelCallRequest) {
    this.#request = request;
  }

  /** Whether the model made a call, be it one that was refused or that the vendor ran itself. */
  get hasSome(): boolean {
    return this.#made.size > 0;
  }

  /** Takes the beginning of a call's input; returns its part for the reader. */
  start(part: InputStart): AnswerPart {
    const id = this.#idOf(part.id, this.#begun.has(part.id) || this.#made.has(part.id));
    this.#begun.add(id);
    this.#written.set(id, { start: { ...part, id }, pieces: [], length: 0 });
    const tool = this.#toolOf(part.toolName);
    // Version 5 of the AI SDK's client looks for the end of a dynamic call among those alone, and the end of one without a tool is dynamic.
    const isOurs = tool !== undefined && part.providerExecuted !== true;
    const dynamic = isOurs ? (part.dynamic ?? tool.type === "dynamic") : true;
    const about = { dynamic, title: tool?.title, toolMetadata: tool?.metadata };
    return withoutBookkeeping({ ...part, id, ...about }) as AnswerPart;
  }

  /** Takes a piece of a call's input. Returns its part; null for one of no call, or beyond `toolInputBytesMax`. */
  write(part: Extract<ModelPart, { type: "tool-input-delta" }>): AnswerPart | null {
    const id = this.#renamed.get(part.id) ?? part.id;
    const written = this.#written.get(id);
    if (written === undefined) return null;
    written.length += part.delta.length;
    if (written.length > toolInputBytesMax) return null;
    written.pieces.push(part.delta);
    return withoutBookkeeping({ ...part, id }) as AnswerPart;
  }

  /** Whether a call's input has come in pieces. */
  isWritten({ toolCallId }: SaidCall): boolean {
    return (this.#written.get(this.#renamed.get(toolCallId) ?? toolCallId)?.length ?? 0) > 0;
  }

  /** Takes a call. Returns its part; null for one that waits for the end of the answer, or was told already. */
  async call(said: SaidCall): Promise<AnswerPart | null> {
    const isBegun = this.#written.has(this.#renamed.get(said.toolCallId) ?? said.toolCallId);
    const toolCallId = isBegun
      ? (this.#renamed.get(said.toolCallId) ?? said.toolCallId)
      : this.#idOf(said.toolCallId, said.providerExecuted !== true && this.#made.has(said.toolCallId));
    if (said.providerExecuted === true) return this.#vendorsCall({ ...said, toolCallId });
    const { input, isOver, pieces } = this.#take(toolCallId, said.input);
    const call = { ...said, toolCallId, input };
    this.#wordless = null;
    if (isOver) return this.#refused(call, tooLong);
    const isWordless = (isBegun && pieces === 0) || input.trim() === "";
    if (!isWordless && !(await this.#request.values.isWhole(input))) {
      this.#held.push(call);
      return null;
    }
    const read = await this.#read(call);
    if (isWordless && read.invalid !== true) this.#wordless = read;
    return read;
  }

  /** Returns the parts for a result of a tool that the vendor runs itself: before one without a call, a call. */
  result({ result, isError, ...said }: Result): AnswerPart[] {
    const toolCallId = this.#renamed.get(said.toolCallId) ?? said.toolCallId;
    const known = this.#made.get(toolCallId);
    if (known !== undefined && known.providerExecuted !== true) return [];
    if (this.#vendors.get(toolCallId) === true) return [];
    const call = known ?? this.#madeByVendor({ ...said, type: "tool-call", toolCallId, input: "{}" });
    this.#vendors.set(toolCallId, said.preliminary !== true);
    const { toolName, input } = call;
    const about = { ...withoutBookkeeping(said), toolCallId, toolName, input, providerExecuted: true, dynamic: true };
    const output =
      isError === true ? { type: "tool-error", error: textOf(result) } : { output: this.#request.values.admit(result) };
    return [...(known === undefined ? [call] : []), { ...about, ...output } as AnswerPart];
  }

  /**
   * Returns the parts for the end of the answer: of calls that wait for it, and the ends of those that
   * the vendor runs itself and has given no result of.
   */
  async end(reason: FinishReason): Promise<AnswerPart[]> {
    const parts: AnswerPart[] = [];
    for (const [id, { start }] of [...this.#written]) {
      const { toolName, providerExecuted } = start;
      const { input, isOver } = this.#take(id, "");
      if (providerExecuted === true) parts.push(this.#madeByVendor({ ...asCall(start), input: "{}" }));
      else if (isOver) parts.push(this.#refused({ ...asCall(start), input }, tooLong));
      else this.#held.push({ type: "tool-call", toolCallId: id, toolName, input });
    }
    const mayBeCut = reason === "length" || reason === "content-filter";
    if (mayBeCut && this.#wordless !== null) {
      this.isCut = true;
      parts.push({ ...this.#wordless, type: "tool-error", error: new ToolError(cutOff) } as AnswerPart);
    }
    for (const call of this.#held.splice(0)) {
      const isCut =
        call.input.trim() === "" ? mayBeCut : !isWholeEnd(reason) && !(await this.#request.values.isWhole(call.input));
      this.isCut ||= isCut;
      parts.push(isCut ? this.#refused(call, cutOff) : await this.#read(call));
    }
    for (const [toolCallId, isTold] of this.#vendors) {
      const call = this.#made.get(toolCallId);
      if (!isTold && call !== undefined) parts.push(withoutResult(call));
    }
    return parts;
  }

  /**
   * Returns a tool call with its input parsed. One that names no known tool, or whose input
   * does not fit the tool, is `invalid` and has an `error`. Throws for one whose check takes too long.
   */
  async #read(said: SaidCall): Promise<ToolCallPart> {
    const { tools, messages, instructions } = this.#request;
    const excess = await this.#request.values.takeInput(said.input);
    if (excess !== null) return this.#refused(said, excess === "too_deep" ? tooDeep : tooManyValues);
    const toolCall = withoutBookkeeping(said);
    const call = await parseToolCall({ toolCall, tools, messages, instructions, repairToolCall: undefined });
    // The model is not told, or it would make the call again, and the check take as long again.
    if (call.invalid === true && isUnchecked(call.error)) throw call.error;
    const read = call.invalid === true ? { ...call, error: unusableCall(call.error) } : call;
    this.any ||= call.invalid !== true;
    this.#made.set(read.toolCallId, read);
    return read;
  }

  /** Returns a call that is not made, with the reason for the model and the reader. */
  #refused(said: SaidCall, reason: string): ToolCallPart {
    const { toolCallId, toolName } = said;
    const tool = this.#toolOf(toolName);
    const about = tool?.metadata === undefined ? {} : { toolMetadata: tool.metadata };
    const call = { type: "tool-call", toolCallId, toolName, input: {}, dynamic: true, invalid: true, ...about };
    const refused = { ...call, title: tool?.title, error: new ToolError(reason) } as ToolCallPart;
    this.#made.set(toolCallId, refused);
    return refused;
  }

  async #vendorsCall(said: SaidCall): Promise<ToolCallPart | null> {
    const { input: written, isOver } = this.#take(said.toolCallId, said.input);
    if (this.#made.has(said.toolCallId)) return null;
    const input = said.input || written;
    const isReadable = !isOver && (await this.#request.values.takeInput(input)) === null;
    return this.#madeByVendor({ ...said, input: isReadable ? input : "{}" });
  }

  #madeByVendor({ toolCallId, toolName, input, ...said }: SaidCall | (Result & { input: string })): ToolCallPart {
    const { providerMetadata } = withoutBookkeeping(said) as Pick<SaidCall, "providerMetadata">;
    const about = providerMetadata === undefined ? {} : { providerMetadata };
    const read = { type: "tool-call", toolCallId, toolName, input: parsedInput(input), ...about };
    const call = { ...read, providerExecuted: true, dynamic: true } as ToolCallPart;
    this.#made.set(toolCallId, call);
    this.#vendors.set(toolCallId, false);
    return call;
  }

  /** Returns what was written of a call's input, or `otherwise` where none of it came in pieces; and forgets it. */
  #take(id: string, otherwise: string) {
    const written = this.#written.get(id);
    this.#written.delete(id);
    const pieces = written?.pieces.length ?? 0;
    const input = written === undefined || pieces === 0 ? otherwise : written.pieces.join("");
    return { input, pieces, isOver: Math.max(written?.length ?? 0, input.length) > toolInputBytesMax };
  }

  #idOf(said: string, isTaken: boolean): string {
    if (!isTaken) {
      this.#renamed.delete(said);
      return said;
    }
    const id = generateId();
    this.#renamed.set(said, id);
    return id;
  }

  #toolOf(name: string): ToolSet[string] | undefined {
    const { tools } = this.#request;
    return Object.hasOwn(tools, name) ? tools[name] : undefined;
  }
}

const cutOff = "This call was not made: the model's answer was cut off.";
const tooLong = `This call was not made: its input is larger than ${toolInputBytesMax / 1024} KiB.`;
const tooManyValues = "This call was not made: the inputs of this answer's calls have too many values.";
const tooDeep = "This call was not made: its input nests too deep.";
const noResult = "No result of this call came.";

/** Whether an answer that ends for this reason has come whole, so that what is no JSON in it was written so. */
function isWholeEnd(reason: FinishReason): boolean {
  return reason === "stop" || reason === "tool-calls";
}

function asCall({ id, toolName }: InputStart): SaidCall {
  return { type: "tool-call", toolCallId: id, toolName, input: "" };
}

function withoutResult({ toolCallId, toolName, input }: ToolCallPart): AnswerPart {
  const about = { toolCallId, toolName, input, providerExecuted: true, dynamic: true };
  return { type: "tool-error", ...about, error: noResult } as AnswerPart;
}

function parsedInput(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function textOf(error: unknown): unknown {
  return error instanceof Error ? error.message : error;
}
