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

/** Returns the secret in a request's cookie; null where there is none. */
export function secretIn(request: Request, publicUrl: string): Secret | null {
  const prefix = `${nameAt(publicUrl)}=`;
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  const [found, ...others] = pairs.filter((pair) => pair.startsWith(prefix));
  // Of two, one was set by somebody who is not this server.
  return found === undefined || others.length > 0 ? null : readSecret(found.slice(prefix.length));
}
