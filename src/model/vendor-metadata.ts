/**
 * What a vendor's client says of a part beside its text. Some of it the vendor's protocol wants
 * back with the part: signatures of thoughts, the ids under which it keeps them. All else is
 * its bookkeeping (usage, tiers, ratings, containers, citations): no reader gets it, and no message has it.
 */
const wantedBack: ReadonlySet<string> = new Set([
  // Anthropic, also at others' clouds
  "signature",
  "redactedData",
  // Google
  "thoughtSignature",
  "serverToolCallId",
  "serverToolType",
  // OpenAI
  "itemId",
  "phase",
  "reasoningEncryptedContent",
  "namespace",
  // OpenRouter
  "reasoning_details",
]);

type Metadata = Readonly<Record<string, unknown>>;

/** Returns a part without what its vendor keeps books of; the part itself where it has nothing of that. */
export function withoutBookkeeping<P extends object>(part: P): P {
  const { providerMetadata } = part as { readonly providerMetadata?: Metadata };
  if (providerMetadata === undefined) return part;
  const kept: Record<string, object> = {};
  for (const [vendor, said] of Object.entries(providerMetadata)) {
    if (typeof said !== "object" || said === null) continue;
    const fields = Object.entries(said).filter(([name, value]) => wantedBack.has(name) && value !== undefined);
    if (fields.length > 0) kept[vendor] = Object.fromEntries(fields);
  }
  const { providerMetadata: _, ...rest } = part as P & { readonly providerMetadata?: unknown };
  return (Object.keys(kept).length === 0 ? rest : { ...rest, providerMetadata: kept }) as P;
}
