import { renderMarkdown, type Style } from "../markdown.ts";
import type { OutgoingMessage } from "../platform.ts";
import { fromMrkdwn } from "./from-mrkdwn.ts";

/** `text` of a message holds at most so many characters; Slack cuts the rest off. */
export const slackTextUnitsMax = 40_000;
/** The text of one block holds at most so many characters. */
export const slackBlockUnitsMax = 3_000;

/** Escapes the three characters that have a meaning for Slack anywhere. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const mrkdwn: Style = {
  escape: escapeText,
  // Slack takes a mark only beside a space or punctuation; a space of no width is one (これは*重要*です).
  apart: "\u200B",
  // The same mark inside would end it.
  bold: (inner) => `*${inner.replaceAll("*", "")}*`,
  italic: (inner) => `_${inner}_`,
  strike: (inner) => `~${inner}~`,
  // Slack has no longer marks of code, so one within would end it: ˋ looks alike, and a space of no width parts three.
  code: (text) => `\`${escapeText(text).replaceAll("`", "ˋ")}\``,
  pre: (text) => `\`\`\`\n${escapeText(text).replaceAll(/``(?=`)/g, "``\u200B")}\n\`\`\``,
  quote: (inner) =>
    inner
      .split("\n")
      .map((line) => `> ${line}`)
      .join("\n"),
  link: (inner, href) => {
    const target = escapeText(href.replaceAll("|", "%7C").replaceAll(">", "%3E"));
    return inner === escapeText(href) ? `<${target}>` : `<${target}|${inner.replaceAll("|", "¦")}>`;
  },
};

/** Returns Markdown in Slack's formatting (mrkdwn), or with its characters as they are. */
export async function slackText({
  text,
  representation,
}: Pick<OutgoingMessage, "text" | "representation">): Promise<string> {
  return representation === "native" ? renderMarkdown(text, mrkdwn) : escapeText(text);
}

/** Returns whether a piece of Markdown has at most so many units in either representation, escaped as it will be. */
export async function fitsSlack(text: string, unitsMax: number): Promise<boolean> {
  for (const representation of ["text", "native"] as const)
    if ((await slackText({ text, representation })).length > unitsMax) return false;
  return true;
}

/** Returns a card's blocks: its text, and the buttons of an open approval. */
export function cardBlocks(text: string, representation: OutgoingMessage["representation"], approvalId: string | null) {
  const kind = representation === "native" ? ("mrkdwn" as const) : ("plain_text" as const);
  const section = { type: "section" as const, text: { type: kind, text: text.slice(0, slackBlockUnitsMax) } };
  if (approvalId === null) return [section];
  const button = (action: "approve" | "deny", label: string, style: "primary" | "danger") => ({
    type: "button" as const,
    action_id: action,
    value: approvalId,
    style,
    text: { type: "plain_text" as const, text: label },
  });
  const elements = [button("approve", "Approve", "primary"), button("deny", "Deny", "danger")];
  return [section, { type: "actions" as const, block_id: "decision", elements }];
}

/**
 * Slack's references to users, channels, groups and addresses, and how a person reads
 * them. No pattern reads past the next `<`, which Slack escapes inside of a reference, so
 * that their time grows with the length of the text and not with its square.
 */
const references: readonly (readonly [RegExp, (found: string[]) => string])[] = [
  [/<@([A-Z0-9]+)(?:\|([^<>]*))?>/g, ([, id, name]) => `@${name ?? id}`],
  [/<#([A-Z0-9]+)(?:\|([^<>]*))?>/g, ([, id, name]) => `#${name || id}`],
  [/<!subteam\^[A-Z0-9]+(?:\|@?([^<>]*))?>/g, ([, name]) => `@${name ?? "group"}`],
  [/<!([a-z]+)(?:[|^][^<>]*)?>/g, ([, word]) => `@${word}`],
  [
    /<((?:https?|mailto|tel):[^<|>]+)(?:\|([^<>]*))?>/g,
    ([, href = "", label]) =>
      label === undefined || href === label || href.endsWith(`:${label}`) || href.endsWith(`//${label}`)
        ? href.replace(/^(mailto|tel):/, "")
        : `${label} (${href})`,
  ],
];

/** Returns a message's text as Markdown, references as a person reads them, without the bot's own mention. */
export function plainText(text: string, botUserId: string | null): string {
  const unmentioned = botUserId === null ? text : text.replaceAll(new RegExp(`<@${botUserId}(\\|[^<>]*)?>`, "g"), "");
  const named = references.reduce(
    (shown, [pattern, name]) => shown.replaceAll(pattern, (...found) => name(found.slice(0, 3) as string[])),
    unmentioned,
  );
  return fromMrkdwn(named).replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&").trim();
}
