import { resultBytesMax } from "./limits.ts";
import type { CallToolResult, ContentBlock } from "./sdk.ts";

/** Returns a tool's result as the text that the model reads, at most `resultBytesMax` bytes; a cut text ends in a note. */
export function resultText({ content, structuredContent }: CallToolResult): string {
  const text = content.map(blockText).join("\n");
  if (text !== "" || structuredContent === undefined) return cutText(text);
  return cutText(JSON.stringify(structuredContent));
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource":
      return "text" in block.resource ? block.resource.text : `[file ${block.resource.uri}, not shown]`;
    case "resource_link":
      return `[${block.name}](${block.uri})`;
    default:
      return `[${block.type} ${block.mimeType}, not shown]`;
  }
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
