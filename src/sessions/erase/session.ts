import type { Ctx } from "../../kernel/context.ts";
import { paced } from "../../kernel/database/pace.ts";
import { freeKeysOf } from "../../kernel/http/erase-keys.ts";
import { addJob } from "../../kernel/queue/add-job.ts";
import type { JobPayloads } from "../../kernel/queue/catalogue.ts";
import { closeSessions, eraseSessions } from "./rows.ts";

/**
 * The job `session.purge`: erases a deleted session, or one that nobody ever saw because its
 * first turn failed, or what was copied for one that never came (`withCopy`), in bounded statements and jobs. Does
 * nothing while the session exists. Safe to repeat.
 */
export function purgeSession(
  { sql, relay }: Pick<Ctx, "sql" | "relay">,
  payload: JobPayloads["session.purge"],
): Promise<void> {
  const { sessionId } = payload;
  return paced(
    async (pace) => {
      const [session] = await sql<{ visible: boolean; isDeleted: boolean }[]>`
        select visible, deleted_at is not null as is_deleted from sessions where id = ${sessionId}`;
      if (session?.isDeleted === false) return;
      if (session?.visible === false) await freeKeysOf(sql, sessionId);
      const closed = session === undefined ? [sessionId] : await closeSessions(sql, [sessionId]);
      await eraseSessions({ sql, relay, pace }, closed);
    },
    () => addJob(sql, "session.purge", payload, { keySuffix: ":on" }),
  );
}
