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

/** Reads the stream of OpenAI's Responses API. */
export class ResponsesEvents implements EventReader {
  readonly #begun = new Set<string>();
  #items = 0;

  read(event: Fields, name: string): readonly object[] {
    const type = wordIn(event.type) ?? name;
    const output_index = placeIn(event.output_index) ?? 0;
    switch (type) {
      case "response.created":
        return [{ type, response: aboutOf(fieldsOf(event.response) ?? {}) }];
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return [{ type, sequence_number: 0, response: endOf(fieldsOf(event.response) ?? {}, type) }];
      case "response.output_item.added":
      case "response.output_item.done":
        return this.#item(type, output_index, fieldsOf(event.item) ?? {});
      case "response.output_text.delta":
      case "response.refusal.delta":
        return this.#delta(type, event, output_index);
      case "response.function_call_arguments.delta":
      case "response.code_interpreter_call_code.delta": {
        const delta = textIn(event.delta);
        return delta === undefined ? [] : [{ type, item_id: textIn(event.item_id) ?? "", output_index, delta }];
      }
      case "response.code_interpreter_call_code.done":
        return [{ type, item_id: textIn(event.item_id) ?? "", output_index, code: textIn(event.code) ?? "" }];
      case "response.reasoning_summary_part.added":
      case "response.reasoning_summary_part.done":
      case "response.reasoning_summary_text.delta":
        return this.#thought(type, event, output_index);
      case "response.output_text.annotation.added":
        return citationOf(fieldsOf(event.annotation)).map((annotation) => ({ type, annotation }));
      default: {
        const failure =
          failureIn(event.error) ?? (type === "error" ? (failureIn(event) ?? { message: "" }) : undefined);
        if (failure === undefined) return [];
        const { message, code } = failure;
        const kind = failure.type === undefined || failure.type === "error" ? "server_error" : failure.type;
        return [
          {
            type: "error",
            sequence_number: 0,
            error: { type: kind, code: code === undefined ? null : String(code), message },
          },
        ];
      }
    }
  }

  end(): readonly object[] {
    return [];
  }

  /** Returns what is said; the item that it belongs to is begun where that was not told. */
  #delta(type: string, event: Fields, output_index: number): object[] {
    const delta = textIn(event.delta);
    const item_id = wordIn(event.item_id) ?? `msg_${output_index}`;
    if (delta === undefined) return [];
    const said = { type, item_id, output_index, delta };
    if (this.#begun.has(`message:${output_index}`)) return [said];
    return [...this.#item("response.output_item.added", output_index, { type: "message", id: item_id }), said];
  }

  #thought(type: string, event: Fields, output_index: number): object[] {
    const item_id = wordIn(event.item_id);
    const summary_index = placeIn(event.summary_index);
    const delta = textIn(event.delta);
    if (item_id === undefined || summary_index === undefined) return [];
    if (!this.#begun.has(`reasoning:${output_index}`)) return [];
    if (type.endsWith(".delta") && delta === undefined) return [];
    return [{ type, item_id, output_index, summary_index, delta }];
  }

  #item(type: string, output_index: number, item: Fields): object[] {
    this.#items += 1;
    const read = itemOf(item, type.endsWith(".done"), wordIn(item.id) ?? `item_${this.#items}`);
    if (read === null) return [];
    const key = `${item.type}:${output_index}`;
    const isTold = this.#begun.has(key);
    if (type.endsWith(".added")) {
      if (isTold) return [];
      this.#begun.add(key);
      return [{ type, output_index, item: read }];
    }
    this.#begun.delete(key);
    const begun = itemOf({ ...item, arguments: "" }, false, wordIn(item.id) ?? `item_${this.#items}`);
    return [
      ...(isTold ? [] : [{ type: "response.output_item.added", output_index, item: begun }]),
      { type, output_index, item: read },
    ];
  }
}

function aboutOf(response: Fields): object {
  const created_at = numberIn(response.created_at) ?? 0;
  return { id: textIn(response.id) ?? "", model: textIn(response.model) ?? "", created_at };
}

function endOf(response: Fields, type: string): object {
  const usage = responsesUsageIn(response.usage);
  const failure = failureIn(response.error);
  const reason = wordIn(fieldsOf(response.incomplete_details)?.reason);
  const isFailed = type === "response.failed" && (failure !== undefined || reason === undefined);
  return {
    ...(reason === undefined ? {} : { incomplete_details: { reason } }),
    ...(usage === undefined ? {} : { usage }),
    ...(isFailed
      ? { error: { message: failure?.message ?? "", code: failure?.code === undefined ? null : String(failure.code) } }
      : {}),
  };
}

/** Returns token counts; undefined where nothing was said. */
export function responsesUsageIn(value: unknown): object | undefined {
  const said = numbersIn(value, ["input_tokens", "output_tokens", "total_tokens"]);
  if (said === undefined) return undefined;
  const usage = fieldsOf(value);
  const cached = countsIn(usage?.input_tokens_details, ["cached_tokens", "cache_write_tokens"]);
  const parts = countsIn(usage?.output_tokens_details, ["reasoning_tokens"]);
  return {
    input_tokens: 0,
    output_tokens: 0,
    ...said,
    ...(cached === undefined ? {} : { input_tokens_details: cached }),
    ...(parts === undefined ? {} : { output_tokens_details: parts }),
  };
}

/** Returns an item of the output, of the kinds that are read: messages, thoughts, calls, and tools that OpenAI runs itself. */
function itemOf(item: Fields, isDone: boolean, id: string): object | null {
  const { type } = item;
  const status = wordIn(item.status) ?? (isDone ? "completed" : "in_progress");
  switch (type) {
    case "message": {
      const { phase } = item;
      return { type, id, phase: phase === "commentary" || phase === "final_answer" ? phase : undefined };
    }
    case "reasoning":
      return { type, id, encrypted_content: wordIn(item.encrypted_content) };
    case "function_call": {
      const name = wordIn(item.name);
      const known = ["in_progress", "completed", "incomplete"].includes(status) ? status : "completed";
      const input = textIn(item.arguments) ?? "";
      const call = { type, id, call_id: wordIn(item.call_id) ?? id, name, arguments: input, status: known };
      return name === undefined ? null : { ...call, namespace: wordIn(item.namespace) };
    }
    case "web_search_call":
      return { type, id, status, ...(isDone ? { action: actionOf(fieldsOf(item.action)) } : {}) };
    case "file_search_call": {
      const queries = Array.isArray(item.queries) ? item.queries.flatMap((query) => textIn(query) ?? []) : [];
      return { type, id, queries };
    }
    case "code_interpreter_call":
      return {
        ...about(item),
        id,
        status,
        code: textIn(item.code) ?? "",
        outputs: isDone ? outputsOf(item.outputs) : null,
      };
    case "image_generation_call":
      return { type, id, ...(isDone ? { result: textIn(item.result) ?? "" } : {}) };
    case "mcp_call": {
      const name = wordIn(item.name) ?? "";
      const server_label = textIn(item.server_label) ?? "";
      const output = textIn(item.output);
      const error = wordIn(item.error) ?? failureIn(item.error)?.message;
      return { type, id, status, name, server_label, arguments: textIn(item.arguments) ?? "{}", output, error };
    }
    default:
      return null;
  }
}

function about(item: Fields): object {
  return { type: item.type, container_id: textIn(item.container_id) ?? "" };
}

function actionOf(action: Fields | undefined): object | undefined {
  const type = action?.type;
  if (type === "open_page") return { type, url: textIn(action?.url) };
  if (type === "find_in_page") return { type, url: textIn(action?.url), pattern: textIn(action?.pattern) };
  if (type !== "search") return undefined;
  const sources = objectsIn(action?.sources).flatMap(({ url }) => {
    const at = wordIn(url);
    return at === undefined ? [] : [{ type: "url", url: at }];
  });
  return { type, query: textIn(action?.query), ...(sources.length === 0 ? {} : { sources }) };
}

function outputsOf(outputs: unknown): object[] | null {
  if (!Array.isArray(outputs)) return null;
  return objectsIn(outputs).flatMap(({ type, logs, url }): object[] => {
    if (type === "logs") return [{ type, logs: textIn(logs) ?? "" }];
    const at = wordIn(url);
    return type === "image" && at !== undefined ? [{ type, url: at }] : [];
  });
}

function citationOf(annotation: Fields | undefined): object[] {
  const url = wordIn(annotation?.url);
  if (annotation?.type !== "url_citation" || url === undefined) return [];
  const { start_index, end_index, title } = annotation;
  const place = { start_index: numberIn(start_index) ?? 0, end_index: numberIn(end_index) ?? 0 };
  return [{ type: "url_citation", url, title: textIn(title) ?? "", ...place }];
}
