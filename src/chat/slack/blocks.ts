import { type SentFields, sentFields, sentItems, textAt } from "../../kernel/outbound/sent-fields.ts";
import { escapeText } from "./format.ts";

/** Blocks nest so deep: lists in lists of rich text have six levels at most. */
const depthMax = 12;

/**
 * Returns what stands in a message whose `text` is empty, as mrkdwn: in its blocks, in
 * what is attached to it (shared messages, other apps' cards), and what Slack read of
 * its files (the words of an audio clip, the begin of a snippet).
 */
export function textBesides(event: SentFields): string {
  return lines([
    blocksText(event.blocks, 0),
    lines(sentItems(event.attachments).map(attachmentText)),
    lines(sentItems(event.files).map(fileText)),
  ]);
}

function lines(texts: readonly string[]): string {
  return texts.filter((text) => text.trim() !== "").join("\n");
}

function blocksText(value: unknown, depth: number): string {
  return depth > depthMax ? "" : lines(sentItems(value).map((block) => blockText(block, depth)));
}

function blockText(block: SentFields, depth: number): string {
  if (block.type === "rich_text") return blocksText(block.elements, depth + 1);
  // Parts of rich text: within a list each item is a section of its own.
  if (block.type === "rich_text_list") return blocksText(block.elements, depth + 1);
  if (typeof block.type === "string" && block.type.startsWith("rich_text_"))
    return sentItems(block.elements).map(spanText).join("");
  return lines([
    ...[block.title, block.text, block.description, block.alt_text].map(textOfField),
    ...[...sentItems(block.fields), ...sentItems(block.elements)].map(textOfObject),
    ...(Array.isArray(block.rows) ? block.rows : []).map((row) => rowText(row, depth + 1)),
  ]);
}

/** Returns a row of a table; each cell is a plain text or rich text. */
function rowText(row: unknown, depth: number): string {
  return sentItems(row)
    .map((cell) => blockText(cell, depth).replaceAll("\n", " "))
    .join(" | ");
}

/** Returns a text that is given as it is (`markdown`), or as an object with its kind. */
function textOfField(value: unknown): string {
  const fields = sentFields(value);
  return fields === null ? (textAt(value) ?? "") : textOfObject(fields);
}

function textOfObject(value: SentFields): string {
  return textAt(value.text) ?? textAt(value.alt_text) ?? "";
}

/** Returns a piece of rich text as Slack writes it in `text`. */
function spanText(span: SentFields): string {
  const id = (name: string) => textAt(span[name]) ?? "";
  switch (span.type) {
    case "user":
      return `<@${id("user_id")}>`;
    case "channel":
      return `<#${id("channel_id")}>`;
    case "usergroup":
      return `<!subteam^${id("usergroup_id")}>`;
    case "broadcast":
      return `<!${id("range")}>`;
    case "emoji":
      return `:${id("name")}:`;
    case "link":
      return id("text") === "" ? `<${id("url")}>` : `<${id("url")}|${escapeText(id("text"))}>`;
    default:
      return escapeText(id("text") || id("fallback"));
  }
}

function attachmentText(attachment: SentFields): string {
  const said = lines([
    ...["pretext", "title", "text"].map((name) => textAt(attachment[name]) ?? ""),
    blocksText(attachment.blocks, 1),
    ...sentItems(attachment.fields).map((field) =>
      [textAt(field.title), textAt(field.value)].filter(Boolean).join(": "),
    ),
  ]);
  return said === "" ? (textAt(attachment.fallback) ?? "") : said;
}

function fileText(file: SentFields): string {
  const heard = textAt(sentFields(sentFields(file.transcription)?.preview)?.content);
  const comment = textAt(sentFields(file.initial_comment)?.comment);
  const snippet =
    file.mode === "snippet" || file.mode === "post" || file.mode === "email" ? textAt(file.preview) : null;
  return lines([comment ?? "", escapeText(heard ?? snippet ?? "")]);
}
