import { ApiError } from "../../kernel/errors.ts";
import type { ProviderClaims } from "./provider.ts";

/** Groups of a person that are looked at, and the characters of the name of each. */
const groupsMax = 1_000;
const groupCharactersMax = 256;
const nameCharactersMax = 200;
/** A longer address of the provider's sign-out, which has the ID token in it, is not kept. */
const endSessionUrlLengthMax = 16_384;

/** Who has signed in, as the identity provider says. */
export interface Person {
  readonly email: string;
  readonly name: string | null;
  readonly groups: readonly string[];
  /** Null where the provider offers none. */
  readonly endSessionUrl: string | null;
}

/** Returns who has signed in. Throws 403 `sign_in_refused` for an address that the provider has not verified. */
export function personIn({ claims, endSessionUrl }: ProviderClaims, groupsClaim: string): Person {
  const { email, email_verified: isVerified, name } = claims;
  if (typeof email !== "string" || email === "" || email.includes("\0") || !email.isWellFormed())
    throw refused("The identity provider names no e-mail address of yours.");
  if (isVerified !== true)
    throw refused("The identity provider has not verified your e-mail address (`email_verified`).");
  return {
    email,
    name:
      typeof name === "string" && name !== "" && isStorable(name)
        ? [...name].slice(0, nameCharactersMax).join("")
        : null,
    groups: groupsIn(claims[groupsClaim]),
    endSessionUrl: endSessionUrl !== null && endSessionUrl.length <= endSessionUrlLengthMax ? endSessionUrl : null,
  };
}

/** Returns the error 403 `sign_in_refused`. */
export function refused(message: string): ApiError {
  return new ApiError("sign_in_refused", { message });
}

function groupsIn(claim: unknown): string[] {
  const named = typeof claim === "string" ? [claim] : Array.isArray(claim) ? claim : [];
  const usable = named.filter(
    (group) =>
      typeof group === "string" && group !== "" && [...group].length <= groupCharactersMax && isStorable(group),
  );
  return [...new Set<string>(usable)].slice(0, groupsMax);
}

/** Returns whether the database can hold a text. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}
