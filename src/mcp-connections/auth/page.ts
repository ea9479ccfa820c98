/** What a page has beside its heading and its sentence. */
interface PageExtras {
  /** The label of a button that sends the page's own address a POST. */
  readonly button?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns a page for a person's browser: a heading and a sentence. It loads nothing from other addresses. */
export function htmlPage(
  status: number,
  title: string,
  text: string,
  { button, headers = {} }: PageExtras = {},
): Response {
  const form = button === undefined ? "" : `<form method="post"><button>${escapeHtml(button)}</button></form>\n`;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto 0; padding: 0 1rem; } p { overflow-wrap: anywhere; } button { font: inherit; padding: 0.5rem 1rem; }</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
${form}</body>
</html>
`;
  const all = { "Content-Type": "text/html; charset=utf-8", ...privateHeaders, ...headers };
  return new Response(html, { status, headers: all });
}

/** Returns a redirect of the browser. */
export function redirect(url: string, headers: Readonly<Record<string, string>>): Response {
  return new Response(null, { status: 302, headers: { Location: url, ...privateHeaders, ...headers } });
}

/**
 * The addresses of these pages hold secrets, and the pages need no scripts. Without `form-action`,
 * because a browser would hold it against the redirect that follows the button too. The address is
 * sent to this service alone: with `no-referrer` browsers would not say either where a form was sent from.
 */
const privateHeaders = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] as string);
}
