/** Longer than what a test waits for takes on a busy machine. What must be fast is measured beside the wait. */
const waitMs = 20_000;

/** Waits until `check` returns something other than null, undefined or false, and returns it. Throws after `limitMs`. */
export async function eventually<T>(check: () => T | Promise<T>, limitMs = waitMs): Promise<NonNullable<T>> {
  const expiresAt = Date.now() + limitMs;
  for (;;) {
    const value = await check();
    if (value !== null && value !== undefined && value !== false) return value as NonNullable<T>;
    if (Date.now() > expiresAt) throw new Error(`Not so within ${limitMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
