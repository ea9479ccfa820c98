import { AsyncLocalStorage } from "node:async_hooks";

/**
 * What runs inside a transaction holds a pooled connection. If it waited for somebody
 * else's server, or for a second connection, a few requests would keep the pool from
 * everybody. The mark costs 10 ns a transaction, so it is always there.
 */
const marks = new AsyncLocalStorage<{ isOpen: boolean }>();

/** Runs `work` marked as inside a transaction. What it starts and does not wait for is not marked any more once it has ended. */
export async function inTransaction<T>(work: () => Promise<T>): Promise<T> {
  const mark = { isOpen: true };
  try {
    return await marks.run(mark, work);
  } finally {
    mark.isOpen = false;
  }
}

/** Throws inside a transaction: `what` has to happen before or after it. */
export function refuseInTransaction(what: string): void {
  if (marks.getStore()?.isOpen === true) throw new Error(`${what} may not be asked for inside a transaction.`);
}
