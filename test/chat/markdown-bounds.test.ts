import { describe, expect, test } from "bun:test";
import { renderMarkdown, type Style } from "../../src/chat/markdown.ts";

/** A style in which all that was read as Markdown shows. */
const style: Style = {
  escape: (text) => text,
  apart: "",
  bold: (inner) => `<b>${inner}</b>`,
  italic: (inner) => `<i>${inner}</i>`,
  strike: (inner) => `<s>${inner}</s>`,
  code: (text) => `<code>${text}</code>`,
  pre: (text) => `<pre>${text}</pre>`,
  quote: (inner) => `<quote>${inner}</quote>`,
  link: (inner, href) => `<a ${href}>${inner}</a>`,
};
const filled = (head: string, piece: string) => (head + piece.repeat(4_000)).slice(0, 4_000).trim();

describe("a section that would take long is shown as it is", () => {
  test.each([
    ["quotes and lists that nest in one line", filled("", "> - ")],
    ["numbered lists that nest in one line", filled("", "1. ")],
    ["quotes with nothing between", filled("", `${">".repeat(1_000)} a\n`)],
    ["numbered lists within quotes", filled("", ">1. ")],
    ["the same behind a fence that is none, because it is HTML", filled("<!--\n```\n-->\n", "> - ")],
    ["marks behind a fence that is HTML", filled("<!--\n```\n-->\n", "a*_")],
    ["marks behind a fence in a comment's paragraph", filled("<div>\n```\n\n", "a*_")],
    ["marks behind a fence that ended with its item", filled("- a\n  ```\n\n", "a*_")],
  ])("%s", async (_, text) => {
    expect(await renderMarkdown(text, style)).toBe(text);
  });

  test.each([
    ["rules", `${"* ".repeat(40)}\n\n${"-".repeat(200)}`, "———\n\n———"],
    ["six levels", "> > > - - - a", "<quote><quote><quote>•   •     • a</quote></quote></quote>"],
    ["marks in code", `\`\`\`\n${"a*_".repeat(1_000)}\n\`\`\``, `<pre>${"a*_".repeat(1_000)}</pre>`],
  ])("and others are read: %s", async (_, text, shown) => {
    expect(await renderMarkdown(text, style)).toBe(shown);
  });
});
