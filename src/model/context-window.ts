import { calcPrice } from "@pydantic/genai-prices";

/** The context window of a model that no catalogue knows, in tokens (docs/decisions/compaction.md). */
const unknownWindowTokens = 128_000;

const windows = new Map<string, number>();
/** Tenants choose the model ids, so the cache is bounded. */
const windowsMax = 1_000;

/**
 * Returns a model's context window in tokens, from the catalogue, or `unknownWindowTokens`
 * for a model that is not in it. A leading `vendor/` is not part of the catalogue's ids.
 */
export function contextWindowOf(model: string): number {
  const known = windows.get(model);
  if (known !== undefined) return known;
  const window = lookUp(model) ?? lookUp(model.split("/").at(-1) ?? model) ?? unknownWindowTokens;
  if (windows.size >= windowsMax) windows.clear();
  windows.set(model, window);
  return window;
}

function lookUp(model: string): number | null {
  try {
    return calcPrice({ input_tokens: 0, output_tokens: 0 }, model)?.model.context_window ?? null;
  } catch {
    return null;
  }
}
