import type { DynamicToolPart, MessagePart, ToolPart } from "parley/client";

/** A tool call within a message. */
export type CallPart = ToolPart | DynamicToolPart;

/** Whether a part is a tool call. */
export function isCall(part: MessagePart): part is CallPart {
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}

/** The name of the tool that a call is of. */
export function callName(part: CallPart): string {
  return part.type === "dynamic-tool" ? (part as DynamicToolPart).toolName : part.type.slice("tool-".length);
}

/** What a state of a call is called, and the status whose color it has. */
export function callStatus({ state, approval, output }: Pick<CallPart, "state" | "approval" | "output">): {
  readonly text: string;
  readonly status: string;
} {
  switch (state) {
    case "input-streaming":
      return { text: "preparing", status: "running" };
    case "approval-requested":
      return { text: "asks for approval", status: "waiting" };
    case "approval-responded":
      return approval?.approved === false
        ? { text: "denied", status: "denied" }
        : { text: "approved", status: "approved" };
    case "output-available":
      return endOf(output);
    case "output-error":
      return { text: "failed", status: "failed" };
    case "output-denied":
      return { text: "denied", status: "denied" };
    default:
      return { text: "called", status: "running" };
  }
}

/** A command that ended with another code than 0 is done, and failed; so is what a server calls an error. */
function endOf(output: unknown): { readonly text: string; readonly status: string } {
  const { exitCode, isError } = (output ?? {}) as { exitCode?: unknown; isError?: unknown };
  if (typeof exitCode === "number" && exitCode !== 0) return { text: `exit ${exitCode}`, status: "failed" };
  return isError === true ? { text: "error", status: "failed" } : { text: "done", status: "done" };
}

/** The beginning of what a call was given, in one line; empty where its input says nothing by itself. */
export function callPreview({ input }: Pick<CallPart, "input">): string {
  if (typeof input !== "object" || input === null) return typeof input === "string" ? firstLine(input) : "";
  const values = Object.values(input).filter((value) => typeof value === "string" || typeof value === "number");
  return firstLine(String(values[0] ?? ""));
}

const previewMax = 120;

function firstLine(text: string): string {
  return (text.trim().split("\n")[0] ?? "").slice(0, previewMax);
}

/** A list of things to do, as the tool `write_todos` has it; null for anything else. */
export function todosOf(value: unknown): readonly { readonly content: string; readonly status: string }[] | null {
  const todos = (value as { todos?: unknown } | null)?.todos;
  if (!Array.isArray(todos)) return null;
  const isTodo = (one: { content?: unknown; status?: unknown } | null) =>
    typeof one?.content === "string" && typeof one.status === "string";
  return todos.every(isTodo) ? todos : null;
}

/** A word on an answer that the model did not end by itself; null for any other. */
export function endNote(metadata: unknown): string | null {
  const reason = (metadata as { finishReason?: unknown } | null | undefined)?.finishReason;
  if (reason === "length") return "The answer was cut at the model's longest.";
  if (reason === "content-filter") return "The model provider's filter ended the answer.";
  return null;
}

/** Pictures that the page may load by itself: those that are in the message. */
export function isOwnPicture(mediaType: string, url: string): boolean {
  return /^image\/(png|jpeg|gif|webp|avif)$/.test(mediaType) && /^(data:image\/|blob:)/.test(url);
}

/** A text that a person typed as a result: JSON where it is JSON, else the text. */
export function asResult(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
