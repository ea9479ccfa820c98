/** A provider's response, or what it is to be sent, is beyond a bound. Its message may be shown to readers. */
export class ModelBoundsError extends Error {
  override readonly name = "ModelBoundsError";
}

/** Returns the `ModelBoundsError` among an error and its causes, or null. */
export function findBoundsError(error: unknown): ModelBoundsError | null {
  // The vendors' clients wrap an error once or twice.
  for (let link = error, depth = 0; link instanceof Error && depth < 5; link = link.cause, depth++)
    if (link instanceof ModelBoundsError) return link;
  return null;
}
