import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { type Folder, folderHtml, readFolder } from "./folder-page.ts";
import { framed } from "./frame.ts";
import { type Html, html } from "./html.ts";
import { type Addresses, headingsOf, type PageHeading, type PagePart, renderPage } from "./markdown.ts";
import type { Searched } from "./searched.ts";

/** The page that all others are reached from; its list under "The pages" is the contents of the site. */
const firstPage = "README.md";

/** The site as files by their names below the folder that it is written to. */
export interface Site {
  readonly files: ReadonlyMap<string, string | Uint8Array>;
  /** Links that lead nowhere, and pages that nothing leads to, each in one line. */
  readonly faults: readonly string[];
}

/** A page of the site: a Markdown file, or a folder of other files that a page links to. */
interface SitePage {
  /** From the root of the repository. */
  readonly path: string;
  readonly url: string;
  readonly title: string;
  readonly source: { readonly markdown: string } | Folder;
  readonly headings: readonly PageHeading[];
}

/** Makes the site of a repository's Markdown: every page that can be reached from the README. */
export function makeSite(root: string): Site {
  const pages = pagesFrom(root);
  const files = new Map<string, string | Uint8Array>();
  const faults = orphansOf(root, pages).map((path) => `${path}: no page leads there`);
  const searched: Searched[] = [];
  const shelves = shelvesOf(pages);
  for (const page of pages.values()) {
    const images = (target: string) => imageOf(root, page, target, files);
    const addresses: Addresses = { link: (target) => addressOf(root, page, target, pages), image: images };
    const { body, parts, dead } = render(page, addresses);
    faults.push(...dead.map((target) => `${page.path} → ${target}`));
    searched.push(...parts.map((part) => searchedPart(page, part)));
    const contents = contentsHtml(shelves, pages, page);
    files.set(
      `${page.url.slice("/docs/".length)}.html`,
      framed({ title: page.title, place: "pages", contents, main: body }),
    );
  }
  files.set("search.json", JSON.stringify(searched));
  return { files, faults };
}

function render(
  { source }: SitePage,
  addresses: Addresses,
): { body: Html; parts: readonly PagePart[]; dead: readonly string[] } {
  return "markdown" in source ? renderPage(source.markdown, addresses) : { ...folderHtml(source), dead: [] };
}

/** All pages by their paths, in the order in which they are met from the first. */
function pagesFrom(root: string): Map<string, SitePage> {
  const pages = new Map<string, SitePage>();
  const open = [firstPage];
  for (const path of open) {
    if (pages.has(path)) continue;
    const page = readPage(root, path);
    pages.set(path, page);
    if (!("markdown" in page.source)) continue;
    for (const target of linksOf(page.source.markdown)) {
      const found = pageOf(root, page.path, target);
      if (found !== null) open.push(found.page);
    }
  }
  return pages;
}

function readPage(root: string, path: string): SitePage {
  const url = `/docs/${path
    .replace(/^docs\//, "")
    .replace(/\.md$/, "")
    .toLowerCase()}`;
  if (extname(path) === ".md") {
    const markdown = readFileSync(join(root, path), "utf8");
    const headings = headingsOf(markdown);
    return { path, url, title: headings[0]?.title ?? path, source: { markdown }, headings };
  }
  const folder = readFolder(root, path);
  const headings = folder.files.map(({ name }) => ({ id: name.toLowerCase(), title: name, depth: 2 }));
  return { path, url, title: folder.title, source: folder, headings };
}

function linksOf(markdown: string): string[] {
  return [...markdown.matchAll(/(?<!!)\[[^\]]*\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] as string)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** The page that a link leads to, and the part of it; null for a file that is not there. */
function pageOf(root: string, from: string, target: string): { page: string; anchor: string | null } | null {
  const [name = "", anchor = null] = target.split("#");
  const path = (name === "" ? from : join(dirname(from), name)).replace(/\/$/, "");
  if (path.startsWith("..") || !existsSync(join(root, path))) return null;
  if (extname(path) === ".md") return { page: path, anchor };
  if (statSync(join(root, path)).isDirectory()) return { page: path, anchor };
  // A file that is no page stands on the page of its folder.
  return { page: dirname(path), anchor: basename(path).toLowerCase() };
}

function addressOf(root: string, from: SitePage, target: string, pages: ReadonlyMap<string, SitePage>): string | null {
  const found = pageOf(root, from.path, target);
  const page = found === null ? undefined : pages.get(found.page);
  if (found === null || page === undefined) return null;
  if (found.anchor === null) return page.url;
  return page.headings.some(({ id }) => id === found.anchor) ? `${page.url}#${found.anchor}` : null;
}

/** Puts a picture into the files, under a name that changes with it, and returns its address. */
function imageOf(
  root: string,
  { path }: SitePage,
  target: string,
  files: Map<string, string | Uint8Array>,
): string | null {
  const found = join(root, dirname(path), target);
  if (!existsSync(found)) return null;
  const bytes = new Uint8Array(readFileSync(found));
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 8);
  const name = `assets/${digest}-${basename(target)}`;
  files.set(name, bytes);
  return `/docs/${name}`;
}

/** Pages below `docs/` that cannot be reached. */
function orphansOf(root: string, pages: ReadonlyMap<string, SitePage>): string[] {
  return readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name))
    .filter((path) => !pages.has(path));
}

interface Shelf {
  readonly title: string;
  readonly pages: readonly SitePage[];
}

/** The first page's list of pages, and what is on no shelf of it. */
function shelvesOf(pages: ReadonlyMap<string, SitePage>): Shelf[] {
  const first = pages.get(firstPage);
  if (first === undefined || !("markdown" in first.source)) return [];
  const [, list = ""] = /^## The pages$([\s\S]*)/m.exec(first.source.markdown) ?? [];
  const shelves = [...list.matchAll(/^- (.+?): (.+)$/gm)].map(([, title = "", row = ""]) => {
    const paths = linksOf(row).map((target) => target.replace(/#.*$/, "").replace(/\/$/, ""));
    return { title, pages: [...new Set(paths)].flatMap((path) => pages.get(path) ?? []) };
  });
  const shelved = new Set([first, ...shelves.flatMap((shelf) => shelf.pages)]);
  const others = [...pages.values()].filter((page) => !shelved.has(page) && !pages.has(aboveOf(page)));
  return [{ title: "", pages: [first] }, ...shelves, { title: "Further", pages: others }];
}

/** The page that a folder of pages belongs to: of `docs/decisions/turns.md` that is `docs/decisions.md`. */
function aboveOf({ path }: SitePage): string {
  return `${dirname(path)}.md`;
}

/** The list of pages. Below the current one stand its headings, below one with a folder of pages those of the folder. */
function contentsHtml(shelves: readonly Shelf[], pages: ReadonlyMap<string, SitePage>, current: SitePage): Html {
  const entry = (page: SitePage): Html => {
    const isCurrent = page === current;
    const isOpen = isCurrent || aboveOf(current) === page.path;
    const inFolder = isOpen ? [...pages.values()].filter((other) => aboveOf(other) === page.path) : [];
    const headings = page.headings.filter(({ depth }) => isCurrent && depth === 2);
    const below = [
      ...headings.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`),
      ...inFolder.map(entry),
    ];
    return html`<li><a href="${page.url}"${isCurrent ? html` aria-current="page"` : null}>${page.title}</a>${
      below.length === 0 ? null : html`<ul>${below}</ul>`
    }</li>\n`;
  };
  return html`${shelves.map(
    (shelf) => html`${shelf.title === "" ? null : html`<h2>${shelf.title}</h2>`}<ul>${shelf.pages.map(entry)}</ul>`,
  )}`;
}

function searchedPart({ url, title }: SitePage, { heading, text }: PagePart): Searched {
  const isWhole = heading.depth === 1;
  return { url: isWhole ? url : `${url}#${heading.id}`, title: heading.title, from: isWhole ? "Pages" : title, text };
}
