import type { CustomFetch } from "openid-client";
import { readBounded } from "../../kernel/bounded-read.ts";

/** The most bytes of anything that the identity provider sends: discovery document, keys, tokens, user info. */
const answerBytesMax = 1024 * 1024;

/** The identity provider cannot be reached, or cannot answer. */
class ProviderAway extends Error {
  override readonly name = "ProviderAway";
}

/** Returns whether an error of a sign-in is that the provider cannot be reached: not the person's fault, and over some day. */
export function isProviderAway(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ProviderAway) return true;
    if (cause.name === "TimeoutError" || cause.name === "AbortError") return true;
  }
  return false;
}

/**
 * Sends a request to the identity provider. Its address is the operator's, so it may be a private one. What it sends is bounded; what is no
 * answer, 5xx included, is an error that `isProviderAway` knows.
 */
export const askProvider: CustomFetch = async (url, options) => {
  try {
    const response = await fetch(url, options as RequestInit);
    const bytes = await readBounded(response.body, answerBytesMax);
    const { status, headers } = response;
    if (status >= 500) throw new ProviderAway(`The identity provider answered with ${status}.`);
    // Of what was unpacked neither the encoding nor the length holds any more.
    const kept = new Headers([...headers].filter(([name]) => !/^(?:content-encoding|content-length)$/i.test(name)));
    return new Response(status === 204 || status === 304 ? null : (bytes as BodyInit), { status, headers: kept });
  } catch (error) {
    throw error instanceof ProviderAway
      ? error
      : new ProviderAway("The identity provider cannot be reached.", { cause: error });
  }
};
