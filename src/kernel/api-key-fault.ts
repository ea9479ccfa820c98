/**
 * What people paste beside a vendor's key, and what to do about it. Such a text is a fine header, so nothing but the
 * vendor would notice, at every call.
 */
const pasted: readonly (readonly [RegExp, string])[] = [
  [/^(?:proxy-)?authorization\s*:/i, "must be the key alone, without the name of the header before it"],
  [/^(?:x-)?(?:goog-)?api-?key\s*:/i, "must be the key alone, without the name of the header before it"],
  [/^(?:bearer|basic|token)(?:\s|$)/i, 'must be the key alone, without "Bearer" or the like before it: that is added'],
  [/^(?:export\s+)?[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET)\s*=/, "must be the key alone, without the variable before it"],
  [/^(["'`]).*\1$/s, "must be the key alone, without quotation marks around it"],
];

/** Returns what is wrong with a vendor's API key as the end of a sentence; null where nothing is. */
export function apiKeyFault(apiKey: string): string | null {
  return pasted.find(([pattern]) => pattern.test(apiKey))?.[1] ?? null;
}
