/** What stands in the place of a credential. */
const redacted = "[redacted]";
/** A piece of a key that is this long says something of it; vendors have been seen to quote the first and the last characters. */
const keyPieceMin = 8;

/**
 * Returns a text of a vendor without the provider's key, pieces of it included, and without what looks like any
 * other credential. For texts that are short, or cut before.
 */
export function withoutCredentials(text: string, apiKey: string): string {
  let left = withoutKey(text, apiKey);
  for (const [pattern, replacement] of credentials) left = left.replace(pattern, replacement);
  return left.replace(runs, (run) => (/\d/.test(run) && /[A-Za-z]/.test(run) ? redacted : run));
}

/** Returns a text without the provider's key and its pieces. */
export function withoutKey(text: string, apiKey: string): string {
  if (apiKey === "") return text;
  const whole = text.replaceAll(apiKey, redacted);
  if (apiKey.length < keyPieceMin) return whole;
  const pieces = new Set<string>();
  for (let at = 0; at + keyPieceMin <= apiKey.length; at++) pieces.add(apiKey.slice(at, at + keyPieceMin));
  let left = "";
  for (let at = 0; at < whole.length; ) {
    let end = at;
    while (pieces.has(whole.slice(end, end + keyPieceMin))) end += 1;
    if (end === at) left += whole[at++];
    else {
      left += redacted;
      at = end - 1 + keyPieceMin;
    }
  }
  return left;
}

/** The shapes of credentials, each with what is left of it. No pattern takes more than one pass over a text. */
const credentials: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*/g, redacted],
  [/:\/\/[^\s/@]{1,300}@/g, `://${redacted}@`],
  [/\b(Bearer|Basic)\s+(?=[\w.~+/=*-]*[\d*])[\w.~+/=*-]{6,}/gi, `$1 ${redacted}`],
  [
    /((?:api[-_ ]?key|secret|password|passwd|token|authorization|[?&]key|credential)["']?\s{0,3}[:=]\s{0,3}["']?)(?!Bearer|Basic)(?=\S{6})(?:\[redacted\]|[^\s"'&,;)}\]])+/gi,
    `$1${redacted}`,
  ],
  [
    /\b(?:sk|rk|pk|xai|gsk|csk|hf|gh[opsur]|github_pat|glpat|xox[a-z]|vck|pplx|nvapi|whsec|r8|fw|tgp|lsv2)[-_][\w*.-]{6,}/g,
    redacted,
  ],
  [/\bAIza[\w*-]{6,}|\bya29\.[\w*-]+|\b(?:AKIA|ASIA)[A-Z0-9*]{8,}|\beyJ[\w-]{8,}[\w.-]*/g, redacted],
  // Masked by the vendor: what it leaves is a piece of one.
  [/(?<![\w-])[\w-]*\*{3,}[\w*-]*/g, redacted],
];

/** A run of letters and digits, both, is no word at this length. */
const runs = /[A-Za-z0-9]{20,}/g;
