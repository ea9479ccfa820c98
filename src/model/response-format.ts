import type { ModelMessage } from "ai";
import { jsonExcess } from "../kernel/json-bounds.ts";
import { type Misfit, misfitOf, UncheckedError } from "../kernel/json-schema.ts";
import type { UiMessage } from "../messages/ui-message.ts";

/** A JSON Schema that an answer's final text has to fit, as JSON. */
export interface ResponseFormat {
  readonly type: "json_schema";
  readonly name?: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** An answer that nests deeper fits no schema: nothing walks over it then. */
const outputDepthMax = 256;
/** What is read of an answer's final text has at most this many characters; a longer one fits no schema. */
const outputCharactersMax = 4 * 1024 * 1024;

/** The answer does not fit the schema that was asked for, also when it was asked for once more. Its message may be shown to readers. */
export class AnswerMisfitError extends Error {
  override readonly name = "AnswerMisfitError";
}

/**
 * Returns the value of an answer's final text, or why it is none that fits. Only what `JSON.parse` takes fits.
 * Throws `UncheckedError` for one that cannot be checked in time, as none of more than `jsonValuesMax` values can.
 */
async function readOutput(
  { schema }: ResponseFormat,
  text: string | null,
  signal: AbortSignal,
): Promise<{ readonly output: unknown } | Misfit> {
  if (text === null) return { path: "", message: "there is no text" };
  if (text.length > outputCharactersMax) return { path: "", message: "is too long" };
  const excess = await jsonExcess(text, { depthMax: outputDepthMax });
  if (excess === "too_deep") return { path: "", message: "nests too deep" };
  if (excess !== null) throw new UncheckedError();
  const parsed = parse(text);
  if (parsed === null) return { path: "", message: "is not JSON, and nothing but JSON may be in it" };
  return (await misfitOf(schema, parsed.output, signal)) ?? parsed;
}

function parse(text: string): { readonly output: unknown } | null {
  try {
    return { output: JSON.parse(text) };
  } catch {
    return null;
  }
}

/**
 * Returns the message that asks for the answer once more, when its final text does not fit; null when it does.
 * Throws `UncheckedError`, and the signal's reason.
 */
export async function askAgain(
  format: ResponseFormat,
  text: string | null,
  signal: AbortSignal,
): Promise<ModelMessage | null> {
  const read = await readOutput(format, text, signal);
  if ("output" in read) return null;
  const fault = read.path === "" ? `It ${read.message}.` : `At ${read.path}: ${read.message}.`;
  const asked =
    `Your answer does not fit the JSON Schema that is asked for. ${fault} ` +
    `Answer again, with the JSON alone and nothing before or after it. The schema:\n${JSON.stringify(format.schema)}`;
  return { role: "user", content: [{ type: "text", text: asked }] };
}

/** Returns the text of an answer that counts, its last one; null when it has none. */
export function finalText(parts: readonly unknown[]): string | null {
  const last = (parts as readonly { readonly type?: unknown; readonly text?: unknown }[]).findLast(
    ({ type, text }) => type === "text" && typeof text === "string" && text.trim() !== "",
  );
  return last === undefined ? null : (last.text as string);
}

/** Returns the value of an answer that was checked when it was made, as a field of a response; none when it is no JSON. */
export function outputOf(message: UiMessage): { readonly output?: unknown } {
  return parse(finalText(message.parts) ?? "") ?? {};
}

/**
 * Returns the settings by which a model is asked for JSON that fits: each vendor's client asks
 * in its vendor's own way. OpenAI's strict mode takes only schemas whose objects are closed and
 * whose fields are all required, and refuses others; they are asked for without it.
 */
export function formatSettings({ name, schema }: ResponseFormat) {
  const isStrict = isClosed(schema, outputDepthMax);
  const named = { schema, ...(name === undefined ? {} : { name }) };
  const loose = { type: "json_schema", json_schema: { ...named, name: name ?? "response", strict: false } };
  return {
    responseFormat: { type: "json", ...named } as const,
    providerOptions: isStrict
      ? {}
      : {
          openai: { strictJsonSchema: false },
          custom: { strictJsonSchema: false },
          openrouter: { response_format: loose },
        },
  };
}

/** Returns whether all objects of a schema are closed, and all their fields required. */
function isClosed(schema: unknown, levels: number): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  if (levels === 0) return false;
  const { type, properties, required, additionalProperties } = schema as Readonly<Record<string, unknown>>;
  if (type === "object" || (typeof properties === "object" && properties !== null)) {
    const all = new Set<unknown>(Array.isArray(required) ? required : []);
    const isWhole = Object.keys(properties ?? {}).every((field) => all.has(field));
    if (additionalProperties !== false || !isWhole) return false;
  }
  return Object.values(schema).every((inner) => isClosed(inner, levels - 1));
}
