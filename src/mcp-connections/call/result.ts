import { Buffer } from "node:buffer";
import { toolFileBytesMax } from "../../kernel/limits.ts";
import { FiledResult, type ResultFile } from "../../tools/filed-result.ts";
import { resultBytesMax } from "../limits.ts";
import { asFields, asText, type JsonFields, Unreadable } from "../wire/fields.ts";

/** The result of a tool's call: blocks of text and of other things, as the server sent them, and whether they tell of a failure. */
export interface ReadResult {
  readonly content: readonly unknown[];
  readonly structuredContent: unknown;
  readonly isError: boolean;
}

/** Reads a value of a server as the result of a call. Throws `Unreadable`. */
export function asCallResult(value: unknown): ReadResult {
  const fields = asFields(value);
  if (fields === null) throw new Unreadable("`result` is no object");
  const structuredContent = fields.structuredContent ?? fields.toolResult ?? undefined;
  const isError = fields.isError === true || fields.isError === "true";
  return { content: readContent(fields.content, structuredContent), structuredContent, isError };
}

function readContent(content: unknown, structuredContent: unknown): readonly unknown[] {
  if (content === undefined || content === null) return [];
  if (Array.isArray(content)) return content;
  if (structuredContent !== undefined) return [];
  throw new Unreadable("`result.content` is no list");
}

/**
 * Returns a tool's result: the text that the model reads, at most `resultBytesMax` bytes (a
 * cut text ends in a note), and its pictures and sounds, each of which the text names where
 * it stands. One that is larger than `toolFileBytesMax`, or is none, is in the text alone.
 */
export function readCallResult(result: ReadResult): string | FiledResult {
  const blocks = result.content.map(readBlock);
  const files = blocks.flatMap(({ file }) => file ?? []);
  const text = textOf(
    result,
    blocks.map((block) => block.text),
  );
  return files.length === 0 ? text : new FiledResult(text, files);
}

/** Returns the text of a result that says that the call failed: its files are not shown. */
export function failureText(result: ReadResult): string {
  return textOf(
    result,
    result.content.map((block) => readBlock(block).text),
  );
}

function textOf({ structuredContent }: ReadResult, texts: readonly string[]): string {
  const text = texts.join("\n");
  if (text !== "" || structuredContent === undefined) return cutText(text);
  return cutText(typeof structuredContent === "string" ? structuredContent : JSON.stringify(structuredContent));
}

interface ReadBlock {
  readonly text: string;
  readonly file?: ResultFile;
}

/** Returns what is shown of a block: what cannot be read of it costs that block alone. */
function readBlock(value: unknown): ReadBlock {
  if (typeof value === "string") return { text: value };
  const block = asFields(value) ?? {};
  return readKnown(block) ?? { text: `[${typeOf(block)}, not shown]` };
}

/** A block's type is repeated up to this many characters. */
const typeLengthMax = 40;

function typeOf({ type }: JsonFields): string {
  const name = (asText(type) ?? "")
    .slice(0, typeLengthMax)
    .replaceAll(/[^\w.:/+-]+/g, " ")
    .trim();
  return name || "a block without a type";
}

/** Returns null for a block of another type, or one that lacks what it is there for. */
function readKnown(block: JsonFields): ReadBlock | null {
  switch (block.type) {
    case "text":
      return typeof block.text === "string" ? { text: block.text } : null;
    case "image":
    case "audio":
      return readFile(block.type, block.mimeType, block.data);
    case "resource":
      return readResource(asFields(block.resource));
    case "resource_link":
      return readLink(block);
    default:
      return null;
  }
}

function readResource(resource: JsonFields | null): ReadBlock | null {
  if (resource === null) return null;
  if (typeof resource.text === "string") return { text: resource.text };
  const mimeType = asText(resource.mimeType) ?? "application/octet-stream";
  return readFile(`file ${asText(resource.uri) ?? ""}`.trim(), mimeType, resource.blob);
}

function readLink({ name, title, uri, description, mimeType }: JsonFields): ReadBlock | null {
  const address = asText(uri);
  if (address === null) return null;
  const about = [mimeType, description].flatMap((word) => asText(word) ?? []).join(", ");
  const shown = asText(name) ?? asText(title) ?? address;
  return { text: `[${shown}](${address})${about === "" ? "" : ` (${about})`}` };
}

const shownType = /^(image|audio)\/[a-z0-9][a-z0-9.+-]{0,99}$/;
/** Some servers write the data as a URL. */
const dataUrlStart = /^data:[^,]{0,200};base64,/i;

/** Returns bytes as the file that is shown, and what the text says of it; null where its type or its data is missing. */
function readFile(what: string, type: unknown, base64: unknown): ReadBlock | null {
  const mimeType = asText(type);
  if (mimeType === null || typeof base64 !== "string") return null;
  const mediaType = mimeType.slice(0, mimeLengthMax).split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const start = dataUrlStart.exec(base64.slice(0, 300))?.[0].length ?? 0;
  const bytes = Buffer.from(start === 0 ? base64 : base64.slice(start), "base64");
  const about = `${what}, ${mimeType.slice(0, mimeLengthMax)}, ${bytes.byteLength} bytes`;
  if (!shownType.test(mediaType)) return { text: `[${about}, not shown: only pictures and sounds are]` };
  if (bytes.byteLength === 0) return { text: `[${about}, not shown: it is empty]` };
  if (bytes.byteLength > toolFileBytesMax)
    return { text: `[${about}, not shown: it has more than ${toolFileBytesMax} bytes]` };
  // Encoded anew: what a server sends as base64 may be something else.
  return { text: `[${about}]`, file: { mediaType: mediaTypeOf(bytes) ?? mediaType, data: bytes.toString("base64") } };
}

/** Of a media type that a server says, the text repeats this many characters. */
const mimeLengthMax = 100;

/** Returns the media type of the usual pictures by their first bytes, because vendors refuse one that is wrong; null of anything else. */
function mediaTypeOf(bytes: Buffer): string | null {
  const begins = (text: string, at = 0) => bytes.subarray(at, at + text.length).equals(Buffer.from(text, "latin1"));
  if (begins("\x89PNG\r\n\x1a\n")) return "image/png";
  if (begins("\xff\xd8\xff")) return "image/jpeg";
  if (begins("GIF8")) return "image/gif";
  return begins("RIFF") && begins("WEBP", 8) ? "image/webp" : null;
}

/** Cuts a text to `resultBytesMax` bytes, including the note about the cut, and never inside a character. */
export function cutText(text: string): string {
  // A UTF-16 unit is at most three bytes, so most texts need not be encoded to be measured.
  if (text.length * 3 <= resultBytesMax) return text;
  const bytes = new TextEncoder().encode(text);
  if (bytes.byteLength <= resultBytesMax) return text;
  const note = `\n[The result is cut: it has ${bytes.byteLength} bytes, more than the ${resultBytesMax} that are shown.]`;
  const kept = new TextDecoder().decode(bytes.subarray(0, resultBytesMax - note.length), { stream: true });
  return kept + note;
}
