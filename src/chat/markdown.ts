import { Lexer, Marked, type Token, type TokenizerThis, type Tokens } from "marked";
import { GiveWay } from "../kernel/async/give-way.ts";
import { decodeEntities } from "./entities.ts";
import { outsideCode, sectionsOf } from "./split.ts";

/** How a platform writes Markdown's elements. Every function gets text that is rendered already, except `escape`, `code` and `pre`. */
export interface Style {
  escape(text: string): string;
  /** What has to stand between a letter and the mark of bold, italic or struck text. */
  readonly apart: string;
  bold(inner: string): string;
  italic(inner: string): string;
  strike(inner: string): string;
  code(text: string): string;
  pre(text: string, language: string): string;
  quote(inner: string): string;
  link(inner: string, href: string): string;
}

const reader = new Marked({ gfm: true, tokenizer: { emStrong: boldBesideLetters } });
/** Addresses that a link may have; any other is shown as text. */
const linkable = /^(https?:|mailto:)/i;

/** Parsing time grows with the square of the length, so Markdown is parsed in sections of this size; a larger section is shown as it is. */
const sectionUnitsMax = 4_096;
/**
 * A section with more marks than this outside of its code is shown as it is: 4 KiB of
 * `a*_` take 0.2 s, and 600 marks 20 ms. A line counts as two: each may be an item of a list.
 */
const sectionWeightMax = 600;
const mark = /[*_~`[\]<&@\\]/g;
/** So is one with a line that begins with more marks of lists and quotes than this: each nests a level, and 2,000 take 80 ms. */
const nestedMarksMax = 16;
const nested = new RegExp(`^(?:[ \\t]*(?:[-*+>]|\\d{1,9}[.)])){${nestedMarksMax + 1}}`, "m");
/** A line of one mark alone parts paragraphs. */
const rules = /^[ \t]*([-*_])(?:[ \t]*\1)*[ \t]*$/gm;

function weightOf(text: string): number {
  return (text.match(mark)?.length ?? 0) + 2 * (text.match(/\n/g)?.length ?? 0);
}

/** Returns Markdown in a platform's own formatting. Sections that take long give way to other work. */
export async function renderMarkdown(text: string, style: Style): Promise<string> {
  const way = new GiveWay();
  const sections: string[] = [];
  for (const section of sectionsOf(text, sectionUnitsMax)) {
    await way.next();
    const shown = renderSection(section, style);
    if (shown !== "") sections.push(shown);
  }
  return sections.join("\n\n").trimEnd();
}

function renderSection(section: string, style: Style): string {
  if (section.length > sectionUnitsMax) return style.escape(section);
  if (weightOf(outsideCode(section)) > sectionWeightMax) return style.escape(section);
  if (nested.test(section.replace(rules, ""))) return style.escape(section);
  try {
    const tokens = tokensOf(section);
    return tokens === null ? style.escape(section) : blocks(tokens, style);
  } catch (error) {
    // Nested too deep for the parser's stack.
    if (!(error instanceof RangeError)) throw error;
    return style.escape(section);
  }
}

/**
 * Returns the tokens of a section; null where what the parser takes for words has more marks than a section may have. Which lines
 * are code it alone knows: a fence within HTML or an item is none to `outsideCode`, or the other way round.
 */
function tokensOf(section: string): readonly Token[] | null {
  const lexer = new Lexer(reader.defaults);
  lexer.blockTokens(section.replaceAll(/\r\n?/g, "\n"), lexer.tokens);
  if (lexer.inlineQueue.reduce((sum, { src }) => sum + weightOf(src), 0) > sectionWeightMax) return null;
  for (const { src, tokens } of lexer.inlineQueue) lexer.inlineTokens(src, tokens);
  return lexer.tokens;
}

/**
 * Reads `**…**` as bold where CommonMark does not: a mark between punctuation and a
 * letter of another script (`**「重点」**内容`, `**"중요"**는`), whose writers put no space there.
 * Returns false for all else, which is read as usual.
 */
function boldBesideLetters(this: TokenizerThis, source: string, masked: string, before = ""): Tokens.Strong | false {
  const found = /^\*\*(?![\s*])([^*\n]+)(?<!\s)\*\*(?!\*)/.exec(masked.slice(-source.length));
  if (found === null) return false;
  const [whole, { length }] = [found[0], found[1] as string];
  const inner = source.slice(2, 2 + length);
  const after = source.slice(whole.length, whole.length + 2);
  const opens = otherLetterAtEnd.test(before) && /^[\p{P}\p{S}]/u.test(inner);
  const closes = otherLetterAtStart.test(after) && /[\p{P}\p{S}]$/u.test(inner);
  if (!opens && !closes) return false;
  const raw = source.slice(0, whole.length);
  return { type: "strong", raw, text: inner, tokens: this.lexer.inlineTokens(inner) };
}

const otherLetterAtStart = /^(?![\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])\p{L}/u;
const otherLetterAtEnd = /(?![\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])\p{L}$/u;

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
      return style.pre(decodeEntities(token.raw.trimEnd()), "");
    case "paragraph":
    case "text":
      return token.tokens === undefined ? style.escape(decodeEntities(token.text)) : inline(token.tokens, style);
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
  let shown = "";
  let wasMarked = false;
  for (const token of tokens) {
    const piece = span(token, style);
    const isMarked = token.type === "strong" || token.type === "em" || token.type === "del";
    if (isMarked && besideMark.test(shown.slice(-2))) shown += style.apart;
    if (wasMarked && !isMarked && markBeside.test(piece)) shown += style.apart;
    shown += piece;
    wasMarked = isMarked && piece !== "";
  }
  return shown;
}

/** What a mark may not stand beside at Slack: anything but spaces and ASCII's punctuation. */
const besideMark = /[^\s\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]$/u;
const markBeside = /^[^\s\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]/u;

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
      return link(inline(token.tokens ?? [], style), decodeEntities(token.href), style);
    case "image":
      return link(style.escape(decodeEntities(token.text || token.href)), decodeEntities(token.href), style);
    case "escape":
      return style.escape(token.text);
    case "text":
      return token.tokens === undefined ? style.escape(decodeEntities(token.text)) : inline(token.tokens, style);
    default:
      return style.escape(token.raw);
  }
}

function link(inner: string, href: string, style: Style): string {
  if (linkable.test(href)) return style.link(inner, href);
  return inner === style.escape(href) ? inner : `${inner} (${style.escape(href)})`;
}
