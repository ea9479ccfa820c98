import { expect, test } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { Actor } from "../../../src/sessions/run/actor.ts";
import { useAgent } from "../../harness/fixture.ts";

const { h, t, agentId } = await useAgent();

test("a worker that closes right after its last turn says nothing of that turn's lock", async () => {
  const lines: string[] = [];
  const log = createLogger("warn", { write: (line) => void lines.push(line) });
  const actor = new Actor({ databaseUrl: h.databaseUrl, slots: 1, pool: h.sql, log });
  await actor.start();
  const [sessionId, turnId] = [newId("session"), newId("turn")];
  await h.sql`
    insert into sessions (id, tenant_id, agent_id, visible) values (${sessionId}, ${t.id}, ${agentId}, true)`;
  await h.sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, assistant_message_id)
    values (${turnId}, ${t.id}, ${agentId}, ${sessionId}, 'session', 1, ${newId("message")})`;
  const running = await actor.claim({ turnId, lockKey: sessionId, tenantId: t.id, way: "job" });
  if (typeof running === "string") throw new Error(running);
  await actor.run(running, () => Promise.resolve());
  await actor.close();
  expect(lines).toEqual([]);
});
