import { marked } from "marked";
import { Html } from "./html.ts";

/** A text of the document as HTML: it is written in Markdown, by us. */
export function proseHtml(markdown: string): Html {
  return Html.trusted(marked.parse(markdown, { async: false }));
}
