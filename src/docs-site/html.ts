/** A piece of HTML. Only `html` and `trusted` make one, so a text never gets into a page unescaped. */
export class Html {
  readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  /** HTML that was made elsewhere, such as a page's Markdown. */
  static trusted(text: string): Html {
    return new Html(text);
  }
}

/** What a template may hold: texts are escaped, lists joined, null leaves nothing. */
export type HtmlPart = string | number | Html | null | readonly HtmlPart[];

/** Puts a piece of HTML together: `` html`<p>${text}</p>` ``. */
export function html(texts: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return Html.trusted(texts.reduce((whole, text, index) => `${whole}${shown(parts[index - 1] ?? null)}${text}`));
}

function shown(part: HtmlPart): string {
  if (part === null) return "";
  if (part instanceof Html) return part.text;
  return typeof part === "object" ? part.map(shown).join("") : escapeHtml(String(part));
}

/** A text as HTML shows it. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
