/**
 * Serves the page, and stands between it and Parley: the API key opens the whole
 * tenant, so it stays here. Only the paths that the page needs are passed on.
 */
import { readFile } from "node:fs/promises";

const { PARLEY_URL = "http://127.0.0.1:8080", PARLEY_API_KEY, AGENT_ID, CHAT_PORT = "3000" } = process.env;
if (!PARLEY_API_KEY || !AGENT_ID) {
  process.stderr.write("Set PARLEY_API_KEY and AGENT_ID to what `npm start` printed.\n");
  process.exit(1);
}

const agent = `/v1/agents/${AGENT_ID}`;
const session = "/sessions/ss_[0-9a-z]{24}";
/** What the page may ask for, by method. Sessions cannot be listed; whoever knows an id may read that one. */
const allowed: Readonly<Record<string, RegExp>> = {
  GET: new RegExp(`^${session}/(messages|stream)$`),
  POST: new RegExp(`^/sessions$|^${session}(/cancel)?$`),
};

async function passOn({ method, headers, body, signal }: Request, { pathname, search }: URL): Promise<Response> {
  const path = pathname.slice("/chat".length);
  if (!allowed[method]?.test(path)) return new Response(null, { status: 404 });
  // An application with users looks here who asks, and whether the session is theirs.
  const own = {
    Authorization: `Bearer ${PARLEY_API_KEY}`,
    "Content-Type": headers.get("content-type") ?? "text/plain",
  };
  const url = `${PARLEY_URL}${agent}${path}${search}`;
  // With the signal a reader that goes away is noticed here and at Parley; its turn goes on.
  const response = await fetch(url, { method, headers: own, body: body && (await new Response(body).text()), signal });
  const location = response.headers.get("location");
  // The page knows this server's paths only.
  if (location !== null) response.headers.set("location", location.replace(agent, "/chat"));
  return response;
}

async function serveFile(name: string): Promise<Response> {
  const type = { js: "text/javascript", css: "text/css" }[name.split(".").at(-1) ?? ""] ?? "text/html";
  const file = await readFile(new URL(`dist/${name}`, import.meta.url));
  return new Response(file, { headers: { "Content-Type": `${type}; charset=utf-8` } });
}

// Bun serves a module that exports this by default.
export default {
  hostname: "127.0.0.1",
  port: Number(CHAT_PORT),
  idleTimeout: 60, // Seconds; Parley says something at least every 15.
  fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname.startsWith("/chat/")) return passOn(request, url);
    return serveFile(/^\/[\w-]+\.(js|css)$/.test(url.pathname) ? url.pathname.slice(1) : "index.html");
  },
};
