import type { DeadLetter } from "../console-shapes/operator.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { type Page, readCursor, writeCursor } from "../kernel/http/page.ts";
import { type Job, listDead } from "../kernel/queue/stored-jobs.ts";

/** This much of an error is shown. */
const errorCharactersMax = 2_000;

/** Returns a page of the dead letters, oldest first. Throws 400 `invalid_cursor`. */
export async function listDeadLetters(
  sql: AnySql,
  { task, cursor, limit }: { task: string | undefined; cursor: string | undefined; limit: number },
): Promise<Page<DeadLetter>> {
  const list = JSON.stringify(["dead-letters", task ?? null]);
  const [after = "0"] = cursor === undefined ? [] : readCursor(list, cursor, 1);
  if (!/^\d{1,18}$/.test(String(after))) throw new ApiError("invalid_cursor");
  const jobs = await listDead(sql, { task: task ?? null, after: String(after), limit: limit + 1 });
  const shown = jobs.slice(0, limit);
  const last = shown.at(-1);
  const nextCursor = jobs.length > limit && last !== undefined ? writeCursor(list, [last.id]) : null;
  return { data: shown.map(show), nextCursor };
}

function show({ id, task, payload, attempts, maxAttempts, lastError, createdAt, updatedAt }: Job): DeadLetter {
  return {
    ...{ id, task, payload, attempts, maxAttempts },
    error: lastError?.slice(0, errorCharactersMax) ?? null,
    createdAt: createdAt.toISOString(),
    failedAt: updatedAt.toISOString(),
  };
}
