import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { type Html, html } from "./html.ts";
import type { PagePart } from "./markdown.ts";
import { codeBlock } from "./shape.ts";

/** A folder whose files are shown as they are, such as the examples. */
export interface Folder {
  readonly title: string;
  readonly files: ReadonlyArray<{ readonly name: string; readonly text: string }>;
}

/** Pages and pictures have their own place. */
const leftOut = /^\.(?:md|png|svg)$/;

/** Reads the files of a folder that are shown on its page. */
export function readFolder(root: string, path: string): Folder {
  const entries = readdirSync(join(root, path), { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile() && !leftOut.test(extname(entry.name))).map(({ name }) => name);
  const title = path.slice(path.lastIndexOf("/") + 1);
  return {
    title: `${title[0]?.toUpperCase()}${title.slice(1)}`,
    files: names.sort().map((name) => ({ name, text: readFileSync(join(root, path, name), "utf8") })),
  };
}

/** The page of a folder: each file under its name. */
export function folderHtml({ title, files }: Folder): { body: Html; parts: PagePart[] } {
  const sections = files.map(({ name, text }) => {
    const id = name.toLowerCase();
    const comment = headerOf(text);
    return html`<h2 id="${id}">${name}</h2>${comment === "" ? null : html`<p>${comment}</p>`}${codeBlock(text.trimEnd(), name)}`;
  });
  const parts = files.map(({ name, text }) => ({
    heading: { id: name.toLowerCase(), title: name, depth: 2 },
    text: headerOf(text),
  }));
  return { body: html`<h1>${title}</h1>${sections}`, parts };
}

/** The comment that a TypeScript file begins with. */
function headerOf(text: string): string {
  const [, comment = ""] = /^\/\*\*([\s\S]*?)\*\//.exec(text) ?? [];
  return comment
    .replaceAll(/^\s*\*/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}
