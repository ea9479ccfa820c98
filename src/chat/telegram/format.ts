import { renderMarkdown, type Style } from "../markdown.ts";
import type { OutgoingMessage } from "../platform.ts";

/** A message holds at most so many UTF-16 units, not counting its formatting. */
export const telegramTextUnitsMax = 4_096;

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

const html: Style = {
  escape: escapeText,
  apart: "",
  bold: (inner) => `<b>${inner}</b>`,
  italic: (inner) => `<i>${inner}</i>`,
  strike: (inner) => `<s>${inner}</s>`,
  code: (text) => `<code>${escapeText(text)}</code>`,
  pre: (text, language) => {
    const name = /^[A-Za-z0-9+#-]{1,20}$/.exec(language)?.[0];
    return name === undefined
      ? `<pre>${escapeText(text)}</pre>`
      : `<pre><code class="language-${name}">${escapeText(text)}</code></pre>`;
  },
  // Quotes do not nest.
  quote: (inner) => `<blockquote>${inner.replaceAll(/<\/?blockquote>/g, "")}</blockquote>`,
  link: (inner, href) => `<a href="${escapeText(href)}">${inner}</a>`,
};

/** Returns Markdown in Telegram's formatting (HTML), or with its characters as they are. */
export async function telegramText({
  text,
  representation,
}: Pick<OutgoingMessage, "text" | "representation">): Promise<string> {
  return representation === "native" ? renderMarkdown(text, html) : text;
}

/** Returns whether a piece of Markdown can be one message, in either representation. */
export async function fitsTelegram(text: string): Promise<boolean> {
  if (text.length > telegramTextUnitsMax) return false;
  const shown = (await renderMarkdown(text, html)).replaceAll(/<[^>]*>/g, "").replaceAll(/&(amp|lt|gt|quot);/g, "_");
  return shown.length <= telegramTextUnitsMax;
}
