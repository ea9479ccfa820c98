/** A fault that the operator can correct. Its message is one line that says how, so it is printed without a stack trace. */
export class OperatorError extends Error {
  override readonly name = "OperatorError";
}

/** Returns an error's message on one line. When several addresses were tried, it is the error of the first. */
export function reasonOf(error: unknown): string {
  const inner = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const text =
    inner instanceof Error ? inner.message || ("code" in inner ? String(inner.code) : inner.name) : String(inner);
  return text.split("\n", 1)[0] as string;
}
