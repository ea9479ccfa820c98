import { Buffer } from "node:buffer";
import { toolFileBytesMax } from "../kernel/limits.ts";
import { FiledResult, type ResultFile } from "../tools/filed-result.ts";
import { resultBytesMax } from "./limits.ts";
import type { CallToolResult, ContentBlock } from "./sdk.ts";

/**
 * Returns a tool's result: the text that the model reads, at most `resultBytesMax` bytes (a
 * cut text ends in a note), and its pictures and sounds, each of which the text names where
 * it stands. One that is larger than `toolFileBytesMax`, or is none, is in the text alone.
 */
export function readToolResult(result: CallToolResult): string | FiledResult {
  const blocks = result.content.map(readBlock);
  const files = blocks.flatMap(({ file }) => file ?? []);
  const text = textOf(
    result,
    blocks.map((block) => block.text),
  );
  return files.length === 0 ? text : new FiledResult(text, files);
}

/** Returns the text of a result that says that the call failed: nobody is shown its files. */
export function failureText(result: CallToolResult): string {
  return textOf(
    result,
    result.content.map((block) => readBlock(block).text),
  );
}

function textOf({ structuredContent }: CallToolResult, texts: readonly string[]): string {
  const text = texts.join("\n");
  return cutText(text !== "" || structuredContent === undefined ? text : JSON.stringify(structuredContent));
}

interface ReadBlock {
  readonly text: string;
  readonly file?: ResultFile;
}

function readBlock(block: ContentBlock): ReadBlock {
  switch (block.type) {
    case "text":
      return { text: block.text };
    case "image":
    case "audio":
      return readFile(block.type, block.mimeType, block.data);
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return { text: resource.text };
      return readFile(`file ${resource.uri}`, resource.mimeType ?? "application/octet-stream", resource.blob);
    }
    case "resource_link": {
      const { name, uri, description, mimeType } = block;
      const about = [mimeType, description].filter((word) => word !== undefined && word !== "").join(", ");
      return { text: `[${name}](${uri})${about === "" ? "" : ` (${about})`}` };
    }
    default:
      return { text: `[${(block as { readonly type: string }).type}, not shown]` };
  }
}

const shownType = /^(image|audio)\/[a-z0-9][a-z0-9.+-]{0,99}$/;

/** Returns bytes as the file that is shown, and what the text says of it. */
function readFile(what: string, mimeType: string, data: string): ReadBlock {
  const mediaType = mimeType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const bytes = Buffer.from(data, "base64");
  const about = `${what}, ${cutText(mimeType.slice(0, mimeLengthMax))}, ${bytes.byteLength} bytes`;
  if (!shownType.test(mediaType)) return { text: `[${about}, not shown: only pictures and sounds are]` };
  if (bytes.byteLength === 0) return { text: `[${about}, not shown: it is empty]` };
  if (bytes.byteLength > toolFileBytesMax)
    return { text: `[${about}, not shown: it has more than ${toolFileBytesMax} bytes]` };
  // Encoded anew: what a server sends as base64 may be something else.
  return { text: `[${about}]`, file: { mediaType: mediaTypeOf(bytes) ?? mediaType, data: bytes.toString("base64") } };
}

/** Of a media type that a server says, the text repeats so many characters. */
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
