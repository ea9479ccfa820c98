/** Something the operator can put right. Its message is one line and all they need, so it is printed without a stack trace. */
export class OperatorError extends Error {
  override readonly name = "OperatorError";
}

/** What a failed attempt says, on one line. Connection errors of several addresses carry their texts inside. */
export function reasonOf(error: unknown): string {
  const inner = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const text =
    inner instanceof Error ? inner.message || ("code" in inner ? String(inner.code) : inner.name) : String(inner);
  return text.split("\n", 1)[0] as string;
}
