/** Resolves after `ms` milliseconds, or as soon as `stop` is aborted. Never rejects. */
export function sleep(ms: number, stop?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop?.aborted === true) return resolve();
    const done = () => {
      clearTimeout(timer);
      stop?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    stop?.addEventListener("abort", done);
  });
}

/**
 * Waits for `work` for at most `limitMs`. Returns its result, else what
 * `onLate` returns or throws. Work that is late goes on; an error of it is ignored then.
 */
export async function within<T, L>(work: PromiseLike<T>, limitMs: number, onLate: () => L): Promise<T | L> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<L>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(onLate());
      } catch (error) {
        reject(error);
      }
    }, limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when `work` has succeeded, or after `limitMs` without it. Rejects as `work` does. */
export async function waitAtMost(work: PromiseLike<unknown>, limitMs: number): Promise<void> {
  await within(work, limitMs, () => undefined);
}
