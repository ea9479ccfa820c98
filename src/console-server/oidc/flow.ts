import { randomBytes } from "node:crypto";
import type { Sealer } from "../../kernel/seal.ts";
import type { FlowSecrets } from "./provider.ts";

/**
 * What a sign-in at the identity provider knows its browser by, while the person is there: a cookie with a random
 * secret and a time, signed. State, nonce and verifier are derived from it with the service's key, so nothing is stored for
 * a sign-in that was only begun, and the cookie tells none of them. `SameSite=Lax`, because the provider's answer comes as a link from another site.
 */
const name = "parley_console_oidc";
const securePrefix = "__Secure-";
const path = "/console/api/oidc";
/** A sign-in has to come back within this time. */
export const oidcMinutes = 10;
const secretBytes = 32;
const returnPathLengthMax = 1_000;

/** A sign-in that was begun in a browser. */
export interface Flow extends FlowSecrets {
  /** Where in the console it began, and ends. */
  readonly returnPath: string;
}

/** What a sign-in keeps in its browser. */
interface Kept {
  readonly secret: string;
  readonly beganAtMs: number;
  readonly returnPath: string;
}

/** Begins a sign-in that ends at a path of the console. Returns it with the cookie that keeps it. */
export function beginFlow(
  sealer: Sealer,
  publicUrl: string,
  returnPath: string | null,
): { flow: Flow; cookie: string } {
  const kept: Kept = {
    secret: randomBytes(secretBytes).toString("base64url"),
    beganAtMs: Date.now(),
    returnPath: safePath(returnPath, publicUrl),
  };
  const body = Buffer.from(JSON.stringify(kept)).toString("base64url");
  const value = `${body}.${sealer.sign(`console-oidc/cookie ${body}`)}`;
  return { flow: flowOf(sealer, kept), cookie: cookieOf(publicUrl, value, oidcMinutes * 60) };
}

/** Returns the sign-in that a browser has begun; null where there is none, or it was too long ago. */
export function flowIn(sealer: Sealer, request: Request, publicUrl: string): Flow | null {
  const prefix = `${nameAt(publicUrl)}=`;
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  const [body = "", signature = ""] = (pairs.find((pair) => pair.startsWith(prefix)) ?? "")
    .slice(prefix.length)
    .split(".");
  if (!sealer.isSigned(`console-oidc/cookie ${body}`, signature)) return null;
  const kept = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as Kept;
  return Date.now() - kept.beganAtMs > oidcMinutes * 60_000 ? null : flowOf(sealer, kept);
}

/** Returns the cookie that removes a sign-in from its browser. */
export function noFlow(publicUrl: string): string {
  return cookieOf(publicUrl, "", 0);
}

function flowOf(sealer: Sealer, { secret, returnPath }: Kept): Flow {
  const derive = (purpose: string) => sealer.sign(`console-oidc/${purpose} ${secret}`);
  return { state: derive("state"), nonce: derive("nonce"), verifier: derive("verifier"), returnPath };
}

function cookieOf(publicUrl: string, value: string, seconds: number): string {
  const isSecure = publicUrl.startsWith("https:");
  const rules = ["HttpOnly", "SameSite=Lax", `Path=${path}`, `Max-Age=${seconds}`, ...(isSecure ? ["Secure"] : [])];
  return `${nameAt(publicUrl)}=${value}; ${rules.join("; ")}`;
}

function nameAt(publicUrl: string): string {
  return publicUrl.startsWith("https:") ? securePrefix + name : name;
}

/** Returns a path of the console: the one that is asked for, if it is one. */
function safePath(asked: string | null, publicUrl: string): string {
  const home = "/console";
  if (asked === null || asked.length > returnPathLengthMax || !URL.canParse(asked, publicUrl)) return home;
  const { origin, pathname, search } = new URL(asked, publicUrl);
  // Plain words and ids, as the console's own paths are: nothing that a server could read as another path.
  const isOwn = origin === new URL(publicUrl).origin && /^\/console(?:\/(?!api(?:\/|$))[\w.~-]+)*\/?$/.test(pathname);
  return isOwn ? pathname + search : home;
}
