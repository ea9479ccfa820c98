import type { Ctx } from "../../kernel/context.ts";
import { paced } from "../../kernel/database/pace.ts";
import { freeKeysOf } from "../../kernel/http/erase-keys.ts";
import { addJob } from "../../kernel/queue/add-job.ts";
import type { JobPayloads } from "../../kernel/queue/catalogue.ts";
import { closeSessions, eraseSessions } from "./rows.ts";

/**
 * The job `session.purge`: erases a deleted session, or one that nobody ever saw because its
 * first turn failed, in bounded statements and jobs. Does
 * nothing while the session exists. Safe to repeat.
 */
export function purgeSession(
  { sql, relay }: Pick<Ctx, "sql" | "relay">,
  payload: JobPayloads["session.purge"],
): Promise<void> {
  const { sessionId } = payload;
  return paced(
    async (pace) => {
      const [deleted] = await sql<{ visible: boolean }[]>`
        select visible from sessions where id = ${sessionId} and deleted_at is not null`;
      if (deleted === undefined) return;
      if (!deleted.visible) await freeKeysOf(sql, sessionId);
      await eraseSessions({ sql, relay, pace }, await closeSessions(sql, [sessionId]));
    },
    () => addJob(sql, "session.purge", payload, { keySuffix: ":on" }),
  );
}
