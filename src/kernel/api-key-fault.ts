/**
 * What people paste beside a vendor's key or in its place, and what to do about it. Such a text is a fine header, so
 * nothing but the vendor would notice, at every call.
 */
const pasted: readonly (readonly [RegExp, string])[] = [
  [/^(?:proxy-)?authorization\s*[:=]/i, "must be the key alone, without the name of the header before it"],
  [/^(?:x-)?(?:goog-)?api[-_ ]?key\s*[:=]/i, "must be the key alone, without the name of the header before it"],
  [
    /^(?:bearer|basic|token)\s*(?:[:=\s]|$)/i,
    'must be the key alone, without "Bearer" or the like before it: that is added',
  ],
  [
    /^(?:(?:export|set|setx|\$env:)\s*)?[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET)\s*[:=]/,
    "must be the key alone, without the variable before it",
  ],
  [/^(?:export|set|setx)\s/i, "must be the key alone, without the variable before it"],
  [
    /^(?:\$\{?\w+\}?|\$env:\w+|%\w+%|\$?\{\{.*\}\}|(?:process|import\.meta)\.env\b.*|os\.environ\b.*)$/is,
    "must be the key itself, not the name of a variable that holds it",
  ],
  [/^(?:<.*>|\[.*\]|\{.*\}|\*+|\.{3,}|…+)$/s, "must be the key itself, not what stands in its place in an example"],
  [
    /^your[-_ ][\w -]*(?:key|token)(?:[-_ ]here)?$/i,
    "must be the key itself, not what stands in its place in an example",
  ],
  [/^(["'`]).*\1$/s, "must be the key alone, without quotation marks around it"],
  [/\s/, "must be the key alone, without a space or a new line within"],
];

/** Returns what is wrong with a vendor's API key as the end of a sentence; null where nothing is. */
export function apiKeyFault(apiKey: string): string | null {
  return pasted.find(([pattern]) => pattern.test(apiKey.trim()))?.[1] ?? null;
}
