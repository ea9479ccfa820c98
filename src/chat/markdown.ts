import { Marked, type Token, type Tokens } from "marked";
import { sectionsOf } from "./split.ts";

/** How a platform writes Markdown's elements. Every function gets text that is rendered already, except `escape`, `code` and `pre`. */
export interface Style {
  escape(text: string): string;
  bold(inner: string): string;
  italic(inner: string): string;
  strike(inner: string): string;
  code(text: string): string;
  pre(text: string, language: string): string;
  quote(inner: string): string;
  link(inner: string, href: string): string;
}

const reader = new Marked({ gfm: true });
/** Addresses that a link may have; any other is shown as text. */
const linkable = /^(https?:|mailto:)/i;

/** Parsing time grows with the square of the length, so Markdown is parsed in sections of this size; a larger section is shown as it is. */
const sectionUnitsMax = 4_096;

/** Returns Markdown in a platform's own formatting. */
export function renderMarkdown(text: string, style: Style): string {
  const sections = sectionsOf(text, sectionUnitsMax).map((section) => renderSection(section, style));
  return sections
    .filter((section) => section !== "")
    .join("\n\n")
    .trimEnd();
}

function renderSection(section: string, style: Style): string {
  if (section.length > sectionUnitsMax) return style.escape(section);
  try {
    return blocks(reader.lexer(section), style);
  } catch (error) {
    // Nested too deep for the parser's stack.
    if (!(error instanceof RangeError)) throw error;
    return style.escape(section);
  }
}

function blocks(tokens: readonly Token[], style: Style): string {
  const shown = tokens.map((token) => block(token, style)).filter((piece) => piece !== "");
  return shown.join("\n\n");
}

function block(token: Token, style: Style): string {
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "hr":
      return "———";
    case "heading":
      return style.bold(inline(token.tokens ?? [], style));
    case "code":
      return style.pre(token.text, token.lang ?? "");
    case "blockquote":
      return style.quote(blocks(token.tokens ?? [], style));
    case "list":
      return list(token as Tokens.List, style, "");
    case "table":
      // A table's columns are aligned only where all characters have the same width.
      return style.pre(token.raw.trimEnd(), "");
    case "paragraph":
    case "text":
      return token.tokens === undefined ? style.escape(token.text) : inline(token.tokens, style);
    default:
      return style.escape(token.raw.trimEnd());
  }
}

function list({ ordered, start, items }: Tokens.List, style: Style, indent: string): string {
  return items
    .map((item, place) => {
      const mark = ordered ? `${Number(start) + place}.` : "•";
      const box = item.task ? (item.checked ? "☑ " : "☐ ") : "";
      const lines = item.tokens
        .filter((token) => token.type !== "checkbox")
        .map((token) =>
          token.type === "list" ? list(token as Tokens.List, style, `${indent}  `) : block(token, style),
        )
        .filter((piece) => piece !== "");
      return `${indent}${mark} ${box}${lines.join("\n")}`;
    })
    .join("\n");
}

function inline(tokens: readonly Token[], style: Style): string {
  return tokens.map((token) => span(token, style)).join("");
}

function span(token: Token, style: Style): string {
  switch (token.type) {
    case "strong":
      return style.bold(inline(token.tokens ?? [], style));
    case "em":
      return style.italic(inline(token.tokens ?? [], style));
    case "del":
      return style.strike(inline(token.tokens ?? [], style));
    case "codespan":
      return style.code(token.text);
    case "br":
      return "\n";
    case "link":
      return link(inline(token.tokens ?? [], style), token.href, style);
    case "image":
      return link(style.escape(token.text || token.href), token.href, style);
    case "escape":
      return style.escape(token.text);
    case "text":
      return token.tokens === undefined ? style.escape(token.text) : inline(token.tokens, style);
    default:
      return style.escape(token.raw);
  }
}

function link(inner: string, href: string, style: Style): string {
  if (linkable.test(href)) return style.link(inner, href);
  return inner === style.escape(href) ? inner : `${inner} (${style.escape(href)})`;
}
