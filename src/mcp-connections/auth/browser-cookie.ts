import { randomBytes } from "node:crypto";
import { signInMinutes } from "../limits.ts";

/**
 * The cookie by which a sign-in knows its browser again: the page with the button sets it, and the
 * authorization server's answer counts in that browser only. `SameSite=Lax`, because that answer
 * comes as a link from another site.
 */
const name = "parley_sign_in";
/** A cookie of this prefix is taken over https only, and from this very host. */
const hostPrefix = "__Host-";
const secretBytes = 32;

/** Returns the secret that a browser has; null when it has none of the right shape. */
export function browserSecretIn(request: Request, publicUrl: string): string | null {
  const prefix = `${nameAt(publicUrl)}=`;
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  const secret = pairs.find((pair) => pair.startsWith(prefix))?.slice(prefix.length);
  return secret !== undefined && /^[\w-]{43}$/.test(secret) ? secret : null;
}

/** Returns a secret for a browser that has none. */
export function newBrowserSecret(): string {
  return randomBytes(secretBytes).toString("base64url");
}

/** Returns the header that gives a browser its secret, or keeps it for as long as a sign-in lasts. */
export function browserCookie(publicUrl: string, secret: string): { readonly "Set-Cookie": string } {
  const isSecure = publicUrl.startsWith("https:");
  const rules = [
    "HttpOnly",
    "SameSite=Lax",
    "Path=/",
    `Max-Age=${signInMinutes * 60}`,
    ...(isSecure ? ["Secure"] : []),
  ];
  return { "Set-Cookie": `${nameAt(publicUrl)}=${secret}; ${rules.join("; ")}` };
}

function nameAt(publicUrl: string): string {
  return publicUrl.startsWith("https:") ? hostPrefix + name : name;
}

/**
 * Whether the button was pressed on the page of this service. Every browser says where a form was
 * sent from, by `Sec-Fetch-Site` or by `Origin`; who says neither is no browser of a person who
 * could be tricked.
 */
export function isFromOwnPage({ headers }: Request, publicUrl: string): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = headers.get("origin");
  return origin === null || origin === new URL(publicUrl).origin;
}
