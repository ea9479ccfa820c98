import { Marked, type MarkedExtension, type Token } from "marked";
import { Html, html } from "./html.ts";
import { codeBlock } from "./shape.ts";

/** What a page's addresses become. Each returns null for what leads nowhere. */
export interface Addresses {
  /** Of a link that is no address of another server. */
  link(target: string): string | null;
  image(target: string): string | null;
}

/** A heading of a page, as links name it. */
export interface PageHeading {
  readonly id: string;
  readonly title: string;
  readonly depth: number;
}

/** A part of a page, from one heading to the next, as the search reads it. */
export interface PagePart {
  readonly heading: PageHeading;
  readonly text: string;
}

/** A page's HTML, its parts, and what its links name that is not there. */
export interface RenderedPage {
  readonly body: Html;
  readonly parts: readonly PagePart[];
  readonly dead: readonly string[];
}

/** The headings of a page, in their order. */
export function headingsOf(markdown: string): PageHeading[] {
  const counts = new Map<string, number>();
  return new Marked().lexer(markdown).flatMap((token) => {
    if (token.type !== "heading") return [];
    const title = plainText(token.tokens ?? []);
    const slug = slugOf(title);
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    return [{ id: count === 0 ? slug : `${slug}-${count}`, title, depth: Number(token.depth) }];
  });
}

/** Writes a page as HTML. Its Markdown is ours, and is trusted. */
export function renderPage(markdown: string, addresses: Addresses): RenderedPage {
  const headings = headingsOf(markdown);
  const dead: string[] = [];
  const marked = new Marked(rendererOf(addresses, [...headings], dead));
  const body = Html.trusted(marked.parser(marked.lexer(markdown)));
  return { body, parts: partsOf(new Marked().lexer(markdown), headings), dead };
}

function rendererOf(addresses: Addresses, headings: PageHeading[], dead: string[]): MarkedExtension {
  const led = (target: string, address: string | null) => {
    if (address === null) dead.push(target);
    return address ?? "#";
  };
  return {
    renderer: {
      heading({ tokens, depth }) {
        const id = headings.shift()?.id ?? "";
        const text = Html.trusted(this.parser.parseInline(tokens));
        return html`<h${depth} id="${id}">${text} <a class="anchor" href="#${id}" aria-label="Link to this">#</a></h${depth}>\n`
          .text;
      },
      code({ text, lang }) {
        return codeBlock(text, lang === undefined || lang === "" ? "Code" : `Code, ${lang}`).text;
      },
      table(token) {
        const cells = (row: typeof token.header, tag: "td" | "th") =>
          row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("");
        const rows = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
        const head = `<thead><tr>${cells(token.header, "th")}</tr></thead>`;
        return `<div class="scroll-x" tabindex="0" role="group" aria-label="Table"><table>${head}<tbody>${rows}</tbody></table></div>\n`;
      },
      link({ href, tokens }) {
        const address = /^[a-z]+:/.test(href) ? href : led(href, addresses.link(href));
        return html`<a href="${address}">${Html.trusted(this.parser.parseInline(tokens))}</a>`.text;
      },
      image({ href, text }) {
        return html`<img src="${led(href, addresses.image(href))}" alt="${text}" loading="lazy">`.text;
      },
    },
  };
}

function partsOf(tokens: readonly Token[], headings: readonly PageHeading[]): PagePart[] {
  const parts: { heading: PageHeading; texts: string[] }[] = [];
  for (const token of tokens) {
    const heading = token.type === "heading" ? headings[parts.length] : undefined;
    if (heading !== undefined) parts.push({ heading, texts: [] });
    else parts.at(-1)?.texts.push(plainText([token]));
  }
  return parts.map(({ heading, texts }) => ({ heading, text: texts.join(" ").replaceAll(/\s+/g, " ").trim() }));
}

/** The words of Markdown. */
function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === "table") {
        const cells = [token.header, ...token.rows].flat() as { tokens: Token[] }[];
        return cells.map((cell) => plainText(cell.tokens)).join(" ");
      }
      if (token.type === "list") return (token.items as Token[]).map((item) => plainText([item])).join(" ");
      if ("tokens" in token && token.tokens !== undefined) return plainText(token.tokens);
      return "text" in token ? String(token.text) : "";
    })
    .join("");
}

/** A heading as GitHub's links name it. */
function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}
