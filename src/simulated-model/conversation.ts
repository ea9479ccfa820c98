/** What the model reads from a request, the same for both wire formats. */

/** A tool that the request offers. */
export interface OfferedTool {
  readonly name: string;
  /** The JSON Schema of its arguments. */
  readonly parameters: unknown;
}

/** The result of a tool call. */
export interface ToolResult {
  readonly tool: string;
  readonly output: string;
}

/** A request, reduced to what decides the answer. */
export interface Conversation {
  readonly model: string;
  /** The text of the last user message. */
  readonly prompt: string;
  /** How many images that message holds. */
  readonly images: number;
  /** How many answers with tool calls were given since that message. */
  readonly stepsPlayed: number;
  /** The results since that message, in order. */
  readonly toolResults: ReadonlyArray<ToolResult>;
  /** Empty when the request forbids calls. */
  readonly tools: ReadonlyArray<OfferedTool>;
  readonly inputTokens: number;
}

/** A request that the model refuses with 400; the message says why. */
export class InvalidRequest extends Error {
  override readonly name = "InvalidRequest";
}

/** An object as JSON gives it, not yet examined. */
export type Json = Record<string, unknown>;

/** Returns `value` as an object. Throws InvalidRequest. */
export function objectOf(value: unknown, what: string): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw new InvalidRequest(`${what} must be an object.`);
}

/** Returns `value` as an array, empty when absent. Throws InvalidRequest. */
export function arrayOf(value: unknown, what: string): unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new InvalidRequest(`${what} must be an array.`);
}

/** Returns the text and the number of images of a message's content: a string, or parts of either wire format. */
export function contentOf(content: unknown): { readonly text: string; readonly images: number } {
  if (typeof content === "string") return { text: content, images: 0 };
  const texts: string[] = [];
  let images = 0;
  for (const entry of arrayOf(content, "A message's content")) {
    const part = objectOf(entry, "A content part");
    if (typeof part.text === "string") texts.push(part.text);
    else if (part.type === "image_url" || part.type === "input_image") images += 1;
    else if (typeof part.refusal !== "string")
      throw new InvalidRequest(`The content part type ${JSON.stringify(part.type ?? null)} is not known here.`);
  }
  return { text: texts.join("\n"), images };
}

/** The tokens that an image counts as. */
export const imageTokens = 85;

/** Returns the tokens as this model counts them: four UTF-16 units each, rounded up. */
export function countTokens(units: number): number {
  return Math.ceil(units / 4);
}
