import type { Sql, Tx } from "../../src/kernel/database/client.ts";

/** Takes a lock in a transaction of its own; returns once it is had, with what lets go of it. */
export async function holdLock(sql: Sql, take: (inner: Tx) => PromiseLike<unknown>): Promise<() => Promise<void>> {
  const { promise: asked, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: had, resolve: tellHad } = Promise.withResolvers<void>();
  const holding = sql.begin(async (inner) => {
    await take(inner);
    tellHad();
    await asked;
  });
  await Promise.race([had, holding]);
  return async () => {
    letGo();
    await holding;
  };
}
