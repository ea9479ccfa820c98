import { type Fields, fieldsOf, itemsOf, textAt } from "../fields.ts";
import { escapeText } from "./format.ts";

/** Blocks nest so deep: lists in lists of rich text have six levels at most. */
const depthMax = 12;

/**
 * Returns what stands in a message whose `text` is empty, as mrkdwn: in its blocks, in
 * what is attached to it (shared messages, other apps' cards), and what Slack read of
 * its files (the words of an audio clip, the begin of a snippet).
 */
export function textBesides(event: Fields): string {
  return lines([
    blocksText(event.blocks, 0),
    lines(itemsOf(event.attachments).map(attachmentText)),
    lines(itemsOf(event.files).map(fileText)),
  ]);
}

function lines(texts: readonly string[]): string {
  return texts.filter((text) => text.trim() !== "").join("\n");
}

function blocksText(value: unknown, depth: number): string {
  return depth > depthMax ? "" : lines(itemsOf(value).map((block) => blockText(block, depth)));
}

function blockText(block: Fields, depth: number): string {
  if (block.type === "rich_text") return blocksText(block.elements, depth + 1);
  // Parts of rich text: within a list each item is a section of its own.
  if (block.type === "rich_text_list") return blocksText(block.elements, depth + 1);
  if (typeof block.type === "string" && block.type.startsWith("rich_text_"))
    return itemsOf(block.elements).map(spanText).join("");
  return lines([textOfField(block.text), ...[...itemsOf(block.fields), ...itemsOf(block.elements)].map(textOfObject)]);
}

/** Returns a text that is given as it is (`markdown`), or as an object with its kind. */
function textOfField(value: unknown): string {
  const fields = fieldsOf(value);
  return fields === null ? (textAt(value) ?? "") : textOfObject(fields);
}

function textOfObject(value: Fields): string {
  return textAt(value.text) ?? "";
}

/** Returns a piece of rich text as Slack writes it in `text`. */
function spanText(span: Fields): string {
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

function attachmentText(attachment: Fields): string {
  const said = lines([
    ...["pretext", "title", "text"].map((name) => textAt(attachment[name]) ?? ""),
    blocksText(attachment.blocks, 1),
    ...itemsOf(attachment.fields).map((field) => [textAt(field.title), textAt(field.value)].filter(Boolean).join(": ")),
  ]);
  return said === "" ? (textAt(attachment.fallback) ?? "") : said;
}

function fileText(file: Fields): string {
  const heard = textAt(fieldsOf(fieldsOf(file.transcription)?.preview)?.content);
  const comment = textAt(fieldsOf(file.initial_comment)?.comment);
  const snippet =
    file.mode === "snippet" || file.mode === "post" || file.mode === "email" ? textAt(file.preview) : null;
  return lines([comment ?? "", escapeText(heard ?? snippet ?? "")]);
}
