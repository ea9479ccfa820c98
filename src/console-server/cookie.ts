import { readSecret, type Secret } from "./secret.ts";

const name = "parley_console";
/** Browsers take a cookie of this prefix over https only. (`__Host-` would need `Path=/`, and this cookie is for the console alone.) */
const securePrefix = "__Secure-";

/** Returns the cookie that holds a session until it ends. */
export function sessionCookie(publicUrl: string, secret: Secret, expiresAt: Date): string {
  const seconds = Math.max(0, Math.floor((expiresAt.getTime() - Date.now()) / 1000));
  return cookie(publicUrl, secret.text, seconds);
}

/** Returns the cookie that removes a session from the browser. */
export function noCookie(publicUrl: string): string {
  return cookie(publicUrl, "", 0);
}

function cookie(publicUrl: string, value: string, seconds: number): string {
  const isSecure = publicUrl.startsWith("https:");
  const rules = ["HttpOnly", "SameSite=Strict", "Path=/console", `Max-Age=${seconds}`, ...(isSecure ? ["Secure"] : [])];
  return `${nameAt(publicUrl)}=${value}; ${rules.join("; ")}`;
}

function nameAt(publicUrl: string): string {
  return publicUrl.startsWith("https:") ? securePrefix + name : name;
}

/** A browser has one cookie of this name for each path and domain that one was set for. More than these were sent by no honest page. */
const secretsMax = 4;

/**
 * Returns the secrets in a request's cookies: none without one, and more than one where a cookie
 * of the same name was set for another path or domain, such as by an older installation. Which of
 * them is of a session is the caller's to find out. Of too many none is returned.
 */
export function secretsIn(request: Request, publicUrl: string): Secret[] {
  const prefix = `${nameAt(publicUrl)}=`;
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  const values = new Set(pairs.filter((pair) => pair.startsWith(prefix)).map((pair) => pair.slice(prefix.length)));
  if (values.size > secretsMax) return [];
  return [...values].map(readSecret).filter((secret) => secret !== null);
}
