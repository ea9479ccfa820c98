/** Waits until `check` answers something other than null, undefined or false. Throws after `limitMs`. */
export async function eventually<T>(check: () => T | Promise<T>, limitMs = 10_000): Promise<NonNullable<T>> {
  const expiresAt = Date.now() + limitMs;
  for (;;) {
    const value = await check();
    if (value !== null && value !== undefined && value !== false) return value as NonNullable<T>;
    if (Date.now() > expiresAt) throw new Error(`Not so within ${limitMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
