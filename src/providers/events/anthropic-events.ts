import { serverToolResult } from "./anthropic-results.ts";
import { EndReason } from "./end-reason.ts";
import type { EventReader } from "./event-reader.ts";
import { countsIn, type Fields, failureIn, fieldsOf, numbersIn, placeIn, textIn, wordIn } from "./fields.ts";

/** A block of the answer that has begun. `unknown`: of a kind that is not read, so its deltas are not read either. */
type Block = "text" | "thinking" | "tool" | "unknown";

/** Token counts that Anthropic says. */
const anthropicCounts = ["input_tokens", "output_tokens"] as const;

/** Returns the counts among what Anthropic says of a usage. Its parts are counts or left out: the client adds them to the whole. */
export function anthropicUsageIn(value: unknown) {
  const said = numbersIn(value, anthropicCounts);
  if (said === undefined) return undefined;
  const thought = countsIn(fieldsOf(value)?.output_tokens_details, ["thinking_tokens"]);
  return {
    ...said,
    ...countsIn(value, ["cache_creation_input_tokens", "cache_read_input_tokens"]),
    ...(thought === undefined ? {} : { output_tokens_details: thought }),
  };
}

/**
 * Reads the stream of Anthropic's Messages API, and of the servers that speak it: events, blocks
 * and deltas that are not known are passed over, a block that was not begun or ended is begun or
 * ended, and tokens that cannot be read are 0, which says nothing.
 */
export class AnthropicEvents implements EventReader {
  readonly #blocks = new Map<number, Block>();
  /** Calls of tools that the vendor runs itself. */
  readonly #serverCalls = new Set<string>();
  #calls = 0;
  #isOpen = false;
  readonly #reason = new EndReason();
  #isStopped = false;
  #outputTokens = 0;

  read(event: Fields, name: string): readonly object[] {
    const type = wordIn(event.type) ?? name;
    switch (type) {
      case "message_start":
        return this.#start(fieldsOf(event.message) ?? {});
      case "content_block_start":
        return this.#beginBlock(placeIn(event.index) ?? 0, fieldsOf(event.content_block) ?? {});
      case "content_block_delta":
        return this.#delta(placeIn(event.index) ?? 0, fieldsOf(event.delta) ?? {});
      case "content_block_stop":
        return this.#endBlock(placeIn(event.index) ?? 0);
      case "message_delta":
        return this.#end(fieldsOf(event.delta)?.stop_reason, event.usage);
      case "message_stop":
        return this.#stop();
      default: {
        const failure = failureIn(event.error) ?? (type === "error" ? { message: "" } : undefined);
        return failure === undefined
          ? []
          : [{ type: "error", error: { ...failure, type: failure.type ?? "api_error" } }];
      }
    }
  }

  end(): readonly object[] {
    // A server that says that the answer ended has ended it, also without the last event.
    return (this.#reason.isSaid || this.#reason.isBlank) && !this.#isStopped ? this.#stop() : [];
  }

  #start(message: Fields): object[] {
    // One that is repeated amid an answer says nothing new.
    if (this.#isOpen) return [];
    this.#isOpen = true;
    this.#isStopped = false;
    const usage = { input_tokens: 0, ...anthropicUsageIn(message.usage) };
    return [{ type: "message_start", message: { id: wordIn(message.id), model: wordIn(message.model), usage } }];
  }

  #beginBlock(index: number, block: Fields): object[] {
    const ended = this.#blocks.has(index) ? this.#endBlock(index) : [];
    const { kind, begun, said = [] } = this.#readBlock(block);
    this.#blocks.set(index, kind);
    if (begun === null) return ended;
    const deltas = said.map((delta) => ({ type: "content_block_delta", index, delta }));
    return [...ended, { type: "content_block_start", index, content_block: begun }, ...deltas];
  }

  /** Returns a block as the client is given it, and what it says already; null: one that is not read. */
  #readBlock(block: Fields): { readonly kind: Block; readonly begun: object | null; readonly said?: object[] } {
    const { type } = block;
    switch (type) {
      case "text": {
        const text = textIn(block.text) ?? "";
        return { kind: "text", begun: { type, text: "" }, said: text === "" ? [] : [{ type: "text_delta", text }] };
      }
      case "thinking": {
        const thinking = textIn(block.thinking) ?? "";
        const signature = wordIn(block.signature);
        const said: object[] = thinking === "" ? [] : [{ type: "thinking_delta", thinking }];
        if (signature !== undefined) said.push({ type: "signature_delta", signature });
        return { kind: "thinking", begun: { type, thinking: "" }, said };
      }
      case "redacted_thinking": {
        const data = wordIn(block.data);
        return data === undefined ? { kind: "unknown", begun: null } : { kind: "thinking", begun: { type, data } };
      }
      case "tool_use":
      case "server_tool_use":
      case "mcp_tool_use":
        return this.#readCall(type, block);
      default: {
        const result = serverToolResult(block);
        const isKnown = result !== null && this.#serverCalls.has(result.tool_use_id);
        return { kind: "unknown", begun: isKnown ? result : null };
      }
    }
  }

  #readCall(type: string, block: Fields): { readonly kind: Block; readonly begun: object | null } {
    const name = wordIn(block.name);
    if (name === undefined) return { kind: "unknown", begun: null };
    this.#calls += 1;
    const id = wordIn(block.id) ?? `call_${this.#calls}`;
    if (type !== "tool_use") this.#serverCalls.add(id);
    const input = fieldsOf(block.input) ?? {};
    // Its input is whole from the start, and the client ends it at once.
    if (type === "mcp_tool_use")
      return { kind: "unknown", begun: { type, id, name, input, server_name: textIn(block.server_name) ?? "" } };
    return { kind: "tool", begun: { type, id, name, input } };
  }

  #delta(index: number, delta: Fields): object[] {
    const kind = this.#blocks.get(index);
    const read = readDelta(delta);
    if (read === null || (kind !== undefined && kind !== read.of)) return [];
    const said = { type: "content_block_delta", index, delta: read.delta };
    if (kind !== undefined) return [said];
    // A tool's input alone names no tool.
    if (read.of === "tool") return [];
    const begun = read.of === "text" ? { type: "text" } : { type: "thinking" };
    return [...this.#beginBlock(index, begun), said];
  }

  #endBlock(index: number): object[] {
    const kind = this.#blocks.get(index);
    this.#blocks.delete(index);
    return kind === undefined || kind === "unknown" ? [] : [{ type: "content_block_stop", index }];
  }

  #end(stopReason: unknown, usage: unknown): object[] {
    const wasSaid = this.#reason.isSaid;
    const reason = stopReason == null ? undefined : this.#reason.read(stopReason);
    const said = anthropicUsageIn(usage);
    this.#outputTokens = said?.output_tokens ?? this.#outputTokens;
    if (reason === undefined && said === undefined) return [];
    // The client takes the last reason: an event without one would take it away.
    if (reason === undefined && wasSaid) return [];
    return [
      { type: "message_delta", delta: { stop_reason: reason }, usage: { ...said, output_tokens: this.#outputTokens } },
    ];
  }

  #stop(): object[] {
    const ended = [...this.#blocks.keys()].flatMap((index) => this.#endBlock(index));
    const unsaid = { type: "message_delta", delta: { stop_reason: "" }, usage: { output_tokens: this.#outputTokens } };
    const reason = this.#reason.isSaid ? [] : [unsaid];
    this.#isStopped = true;
    this.#isOpen = false;
    return [...ended, ...reason, { type: "message_stop" }];
  }
}

function readDelta(delta: Fields): { readonly of: Block; readonly delta: object } | null {
  const { type } = delta;
  const text = textIn(delta.text);
  if (type === "text_delta") return text === undefined ? null : { of: "text", delta: { type, text } };
  const thinking = textIn(delta.thinking);
  if (type === "thinking_delta") return thinking === undefined ? null : { of: "thinking", delta: { type, thinking } };
  const signature = wordIn(delta.signature);
  if (type === "signature_delta")
    return signature === undefined ? null : { of: "thinking", delta: { type, signature } };
  const partial_json = textIn(delta.partial_json);
  if (type === "input_json_delta")
    return partial_json === undefined ? null : { of: "tool", delta: { type, partial_json } };
  const citation = citationOf(fieldsOf(delta.citation));
  return type === "citations_delta" && citation !== null ? { of: "text", delta: { type, citation } } : null;
}

/** Returns a citation of the web; others name files that this service does not send. */
function citationOf(citation: Fields | undefined): object | null {
  const url = wordIn(citation?.url);
  if (citation?.type !== "web_search_result_location" || url === undefined) return null;
  const { cited_text, title, encrypted_index } = citation;
  return {
    type: "web_search_result_location",
    url,
    cited_text: textIn(cited_text) ?? "",
    title: textIn(title) ?? null,
    encrypted_index: textIn(encrypted_index) ?? "",
  };
}
