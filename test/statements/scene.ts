import type { Sql } from "../../src/kernel/database/client.ts";
import { ApiError } from "../../src/kernel/errors.ts";

/** One way to have a hot statement sent. */
export interface Scene {
  /** Says in the book when the statement has this text; null: it is only counted. */
  readonly title: string | null;
  run(sql: Sql): Promise<unknown>;
}

/** Runs a scene on a database without rows: so nothing is found, and nothing is written. */
export async function play(scene: Scene, sql: Sql): Promise<void> {
  await scene.run(sql).catch((error: unknown) => {
    // What finds nothing is refused.
    if (!(error instanceof ApiError)) throw error;
  });
}

/** Every choice of one value for each field. */
export function everyChoice<T extends object>(fields: { readonly [K in keyof T]: readonly T[K][] }): T[] {
  let chosen: Partial<T>[] = [{}];
  for (const name of Object.keys(fields) as (keyof T)[])
    chosen = chosen.flatMap((some) => fields[name].map((value) => ({ ...some, [name]: value })));
  return chosen as T[];
}
