import { describe, expect, test } from "bun:test";
import { tx } from "../../../src/kernel/database/transaction.ts";
import { deleteTurn } from "../../../src/sessions/erase/turn.ts";
import { useTenant } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { holdModel } from "../../harness/held-model.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { idle, play } from "../../harness/turns.ts";

const { h, t } = await useTenant({ worker: true });

/** Erases a turn; its transaction is committed only once the end of another turn waits for it. */
async function eraseWhile(agentId: string, sessionId: string, turnId: string, end: () => unknown): Promise<void> {
  const [deleted, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const erased = tx(h.sql, async (inner) => {
    await deleteTurn(inner, { tenantId: t.id, agentId, sessionId, turnId });
    deleted.resolve();
    await mayCommit.promise;
  });
  await Promise.race([deleted.promise, erased]);
  end();
  try {
    await eventually(async () => {
      const [waits] = await h.sql`
        select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%home as materialized%'`;
      return waits !== undefined;
    });
  } finally {
    mayCommit.resolve();
    await erased;
  }
  await idle(h, sessionId);
}

async function counts(sessionId: string) {
  const [row] = await h.sql<{ messageCount: number; stored: number }[]>`
    select message_count, (select count(*)::int from messages where session_id = s.id) as stored
    from sessions s where id = ${sessionId}`;
  return row;
}

describe("the erasure of a turn", () => {
  test("leaves the session's messages counted right when a regeneration ends at that moment", async () => {
    let isHeld = false;
    await using held = holdModel(h.model, () => isHeld);
    const provider = await makeProvider(h, t, { baseUrl: held.url });
    const agentId = await makeAgent(h, t, { providerId: provider.id });
    const { sessionId, turnId } = await play(t, agentId, null, { message: userMessage("one"), stream: false });
    await play(t, agentId, sessionId, { message: userMessage("two"), stream: false });
    isHeld = true;
    const regenerated = play(t, agentId, sessionId, { trigger: "regenerate-message", stream: false });
    await eventually(async () => {
      const [running] = await h.sql`select 1 from turns where session_id = ${sessionId} and status = 'running'`;
      return running !== undefined;
    });
    await eraseWhile(agentId, sessionId, turnId, () => held.release());
    expect((await regenerated).status).toBe(200);
    expect(await counts(sessionId)).toEqual({ messageCount: 2, stored: 2 });
  });
});
