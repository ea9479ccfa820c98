import { Redis } from "ioredis";
import type { App } from "../../src/app.ts";
import { type ApiResponse, sharedRedisUrl } from "./harness.ts";
import { inProcess } from "./runtimes.ts";

/** The origin of the console in tests. */
export const consoleOrigin = "http://parley.test";

/** What the page of the console can do, without a browser: its requests with its cookie and its token. */
export interface ConsolePage {
  /** The `Cookie` header. */
  readonly cookie: string;
  readonly csrfToken: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely.
  readonly session: any;
  /** One request as the page sends it; `headers` replace the page's own, null leaves one out. */
  call(method: string, path: string, options?: PageCall): Promise<ApiResponse>;
  /** The same, with a response that is read as it comes. */
  open(method: string, path: string, options?: PageCall): Promise<Response>;
}

export interface PageCall {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | null>>;
}

/** Forgets wrong sign-ins of a service in processes of its own, which all come from one address; one in this process counts by itself. */
export async function forgetGuesses(): Promise<void> {
  if (inProcess || sharedRedisUrl === null) return;
  const redis = new Redis(sharedRedisUrl);
  const keys = await redis.keys("parley:guess:*");
  if (keys.length > 0) await redis.del(...keys);
  await redis.quit();
}

/** Sends a sign-in, and returns its response as it is. */
export async function tryToSignIn(
  app: App,
  body: unknown,
  headers: Readonly<Record<string, string | null>> = {},
): Promise<ApiResponse> {
  return read(await app(requestOf("POST", "/console/api/login", { body, headers })));
}

/** Signs in with a credential. Throws when that is refused. */
export async function signInToConsole(app: App, body: unknown): Promise<ConsolePage> {
  const response = await tryToSignIn(app, body);
  if (response.status !== 200) throw new Error(`The sign-in was ${response.status}.`);
  return pageOf(app, (response.headers.get("set-cookie") as string).split(";", 1)[0] as string, response.body);
}

/** Returns the page that holds a session, perhaps of another process. */
export function pageOf(app: App, cookie: string, session: { readonly csrfToken: string }): ConsolePage {
  const { csrfToken } = session;
  const open = (method: string, path: string, { body, headers = {} }: PageCall = {}) => {
    const own = { cookie, ...(method === "GET" ? {} : { "x-csrf-token": csrfToken }) };
    return app(requestOf(method, `/console/api${path}`, { body, headers: { ...own, ...headers } }));
  };
  return { cookie, csrfToken, session, open, call: async (...request) => read(await open(...request)) };
}

function requestOf(method: string, path: string, { body, headers: given = {} }: PageCall): Request {
  const headers = new Headers({ "sec-fetch-site": "same-origin" });
  if (method !== "GET") headers.set("origin", consoleOrigin);
  if (body !== undefined) headers.set("content-type", "application/json");
  for (const [name, value] of Object.entries(given)) {
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  }
  const payload = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
  return new Request(`${consoleOrigin}${path}`, { method, headers, body: payload });
}

async function read(response: Response): Promise<ApiResponse> {
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text || null };
}
