import { type Html, html } from "./html.ts";

/** A page within what all pages have: the bar, the contents beside it, and the search. */
export function framed(page: {
  readonly title: string;
  /** Which entry of the bar it belongs to. */
  readonly place: "operations" | "pages";
  readonly contents: Html;
  readonly main: Html;
}): string {
  const current = (place: string) => (page.place === place ? html` aria-current="page"` : null);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · Parley</title>
<link rel="stylesheet" href="/docs/assets/page.css">
<link rel="icon" href="data:,">
<script type="module" src="/docs/assets/page.js"></script>
</head>
<body>
<a class="skip" href="#main">To the text</a>
<header class="bar">
<button type="button" class="contents-open" popovertarget="contents">Contents</button>
<nav aria-label="Parts"><a href="/docs"${current("operations")}>Operations</a><a href="/docs/readme"${current("pages")}>Pages</a></nav>
<button type="button" class="search-open" aria-keyshortcuts="/ Control+K" hidden>Search <kbd>/</kbd></button>
</header>
<nav id="contents" popover aria-label="Contents">${page.contents}</nav>
<main id="main" tabindex="-1">${page.main}</main>
<dialog id="search" aria-label="Search">
<input type="search" role="combobox" aria-label="Search" aria-expanded="true" aria-controls="hits" aria-autocomplete="list" autocomplete="off" spellcheck="false" placeholder="Operations, fields, errors, pages">
<ul id="hits" role="listbox" aria-label="Found"></ul>
<p class="faint" role="status"></p>
</dialog>
</body>
</html>
`.text;
}
