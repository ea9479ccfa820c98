import { ChatCalls } from "./chat-calls.ts";
import { EndReason } from "./end-reason.ts";
import type { EventReader } from "./event-reader.ts";
import {
  countsIn,
  type Fields,
  failureIn,
  fieldsOf,
  numberIn,
  numbersIn,
  objectsIn,
  placeIn,
  textIn,
  wordIn,
} from "./fields.ts";

/** This many details of thoughts are read of an event, which has one or two: with events of 30,000 their client stands 100 ms at a time. */
const detailsMax = 1_000;

/** Reads the stream of Chat Completions, which OpenAI, OpenRouter and most others speak. */
export class ChatEvents implements EventReader {
  readonly #calls = new ChatCalls();
  readonly #reason = new EndReason();
  #gave = false;
  /** What was told of the answer beside its choices: it stands in each event, and is told when it is new. */
  #id: string | undefined;
  #model: string | undefined;

  read(event: Fields, name: string): readonly object[] {
    const failure = failureIn(event.error) ?? (name === "error" ? (failureIn(event) ?? { message: "" }) : undefined);
    if (failure !== undefined) return [{ error: failure }];
    const choice = firstChoice(event.choices);
    const usage = chatUsageIn(event.usage ?? fieldsOf(event.x_groq)?.usage ?? choice?.usage);
    const said = choice === undefined ? undefined : this.#choice(choice);
    if (said === undefined && usage === undefined) return [];
    return [{ ...this.#about(event), choices: said === undefined ? [] : [said], usage }];
  }

  end(isMarked: boolean): readonly object[] {
    const left = this.#calls.end();
    const delta = left.length === 0 ? {} : { tool_calls: left };
    // A vendor that says that the answer has ended but not why: with `[DONE]`, or with a reason that is blank.
    const isEnded = this.#gave && !this.#reason.isSaid && (isMarked || this.#reason.isBlank);
    if (left.length === 0 && !isEnded) return [];
    return [{ choices: [{ index: 0, delta, ...(isEnded ? { finish_reason: "" } : {}) }] }];
  }

  #about(event: Fields): object | undefined {
    const id = wordIn(event.id);
    const model = wordIn(event.model);
    if (id === this.#id && model === this.#model) return undefined;
    this.#id = id;
    this.#model = model;
    return { id, model };
  }

  #choice(choice: Fields): object | undefined {
    const delta = this.#delta(fieldsOf(choice.delta) ?? (this.#gave ? undefined : fieldsOf(choice.message)));
    const reason = this.#reason.read(choice.finish_reason);
    if (delta === undefined && reason === undefined) return undefined;
    this.#gave ||= delta !== undefined;
    return { index: 0, delta, finish_reason: reason };
  }

  #delta(delta: Fields | undefined): object | undefined {
    if (delta === undefined) return undefined;
    const { content, thought } = contentIn(delta.content);
    const reasoning = textIn(delta.reasoning_content) ?? textIn(delta.reasoning) ?? thought;
    return {
      content,
      // Each client reads one of the two names.
      reasoning_content: reasoning,
      reasoning,
      reasoning_details: readEach(delta.reasoning_details, detailIn, detailsMax),
      tool_calls: this.#toolCalls(delta),
      images: readEach(delta.images, imageIn),
      annotations: readEach(delta.annotations, citationIn),
      refusal: textIn(delta.refusal),
    };
  }

  #toolCalls({ tool_calls, function_call }: Fields): readonly object[] | undefined {
    if (tool_calls == null && function_call == null) return undefined;
    const calls = this.#calls.read(tool_calls, function_call);
    return calls.length === 0 ? undefined : calls;
  }
}

/** Returns what is read of the objects of a list; undefined where that is nothing, as of nearly every event. */
function readEach(
  value: unknown,
  read: (item: Fields) => object[],
  max = Number.POSITIVE_INFINITY,
): readonly object[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const found = objectsIn(value).slice(0, max).flatMap(read);
  return found.length === 0 ? undefined : found;
}

/** Returns the choice that is read: one is asked for. */
export function firstChoice(choices: unknown): Fields | undefined {
  return objectsIn(choices).find(({ index }) => (placeIn(index) ?? 0) === 0);
}

/** Returns what is said and what is thought; Mistral sends both as a list of parts. */
export function contentIn(content: unknown): {
  readonly content: string | undefined;
  readonly thought: string | undefined;
} {
  if (!Array.isArray(content)) return { content: textIn(content), thought: undefined };
  const parts = objectsIn(content);
  const joined = (texts: readonly string[]) => (texts.length === 0 ? undefined : texts.join(""));
  return {
    content: joined(parts.flatMap(({ type, text }) => (type === "text" ? (textIn(text) ?? []) : []))),
    thought: joined(
      parts.flatMap(({ type, thinking }) =>
        type === "thinking" ? (textIn(thinking) ?? objectsIn(thinking).flatMap(({ text }) => textIn(text) ?? [])) : [],
      ),
    ),
  };
}

/** What OpenRouter wants back of a thought, as it came. */
function detailIn(detail: Fields): object[] {
  const { type } = detail;
  const about = {
    id: wordIn(detail.id),
    format: wordIn(detail.format),
    index: placeIn(detail.index),
  };
  if (type === "reasoning.text")
    return [{ type, text: textIn(detail.text), signature: textIn(detail.signature), ...about }];
  if (type === "reasoning.summary") return [{ type, summary: textIn(detail.summary) ?? "", ...about }];
  const data = textIn(detail.data);
  return type === "reasoning.encrypted" && data !== undefined ? [{ type, data, ...about }] : [];
}

function imageIn({ image_url }: Fields): object[] {
  const url = wordIn(fieldsOf(image_url)?.url);
  // A picture at an address would be taken for base64.
  return url?.startsWith("data:") === true ? [{ type: "image_url", image_url: { url } }] : [];
}

function citationIn({ url_citation }: Fields): object[] {
  const cited = fieldsOf(url_citation);
  const url = wordIn(cited?.url);
  if (url === undefined) return [];
  const place = { start_index: numberIn(cited?.start_index) ?? 0, end_index: numberIn(cited?.end_index) ?? 0 };
  return [{ type: "url_citation", url_citation: { url, title: textIn(cited?.title) ?? "", ...place } }];
}

/** Returns token counts; what cannot be read of them is 0, which says nothing. */
export function chatUsageIn(value: unknown): object | undefined {
  const usage = fieldsOf(value);
  if (usage === undefined) return undefined;
  const details = countsIn(usage.prompt_tokens_details, ["cached_tokens", "cache_write_tokens"]);
  // DeepSeek and Moonshot say what was in their caches in other fields.
  const { prompt_cache_hit_tokens, cached_tokens } =
    countsIn(usage, ["prompt_cache_hit_tokens", "cached_tokens"]) ?? {};
  const hits = prompt_cache_hit_tokens ?? cached_tokens;
  const cached = hits === undefined ? details : { cached_tokens: hits, ...details };
  const parts = countsIn(usage.completion_tokens_details, ["reasoning_tokens"]);
  const counts = {
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    ...numbersIn(usage, ["prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_hit_tokens"]),
  };
  // xAI counts thoughts beside the completion, and only its total has them.
  const thoughts = parts?.reasoning_tokens ?? 0;
  const isApart = thoughts > 0 && counts.prompt_tokens + counts.completion_tokens + thoughts === counts.total_tokens;
  return {
    ...counts,
    ...(isApart ? { completion_tokens: counts.completion_tokens + thoughts } : {}),
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: 0, ...cached } }),
    ...(parts === undefined ? {} : { completion_tokens_details: { reasoning_tokens: 0, ...parts } }),
  };
}
