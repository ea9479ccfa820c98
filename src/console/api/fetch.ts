/** How the pages reach the service: `/console/api`, as the one whom the cookie names. */

import { readParleyError } from "../../client/error.ts";

/** Where the operations of `/v1` are for the pages. */
export const apiBase = "/console/api";

let csrfToken = "";
let onUnauthorized: () => void = () => {};

/** From now on unsafe requests carry this token; the session's answers name it. */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

/** What is done when the service says that no one is signed in. */
export function whenUnauthorized(act: () => void): void {
  onUnauthorized = act;
}

/** The console's address of an operation: `/v1/agents` is `/console/api/agents`. */
export function consolePath(path: string): string {
  return path.replace(/^\/v1(?=\/)/, apiBase);
}

/** `fetch` of an operation, by its path at `/v1` or at `/console/api`. */
export async function consoleFetch(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.delete("Authorization");
  headers.set("API-Form", "b");
  if (!/^(GET|HEAD)$/.test(init.method ?? "GET")) headers.set("X-CSRF-Token", csrfToken);
  const response = await fetch(consolePath(path), { ...init, headers, credentials: "same-origin" });
  if (response.status === 401 && !path.endsWith("/login")) onUnauthorized();
  return response;
}

/** The JSON that a page's own operation (`/console/api/overview`, …) responds with. Throws `ParleyError`. */
export async function readConsole<Body>(path: string, init: RequestInit = {}): Promise<Body> {
  const response = await consoleFetch(path, init);
  if (!response.ok) throw await readParleyError(response);
  return response.status === 204 ? (null as Body) : response.json();
}

/** Sends JSON to a page's own operation. Throws `ParleyError`. */
export function sendConsole<Body>(
  method: "POST" | "PATCH" | "PUT" | "DELETE",
  path: string,
  body?: object,
): Promise<Body> {
  if (body === undefined) return readConsole(path, { method });
  const headers = { "Content-Type": "application/json" };
  return readConsole(path, { method, headers, body: JSON.stringify(body) });
}
