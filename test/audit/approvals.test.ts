import { expect, test } from "bun:test";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { play, script, sessionPath } from "../harness/turns.ts";

const { h, t } = await useTenant({ worker: true });
const asking = { tools: ["memory" as const], approvalInChat: { default: "manual" as const, overrides: [] } };
const [one, other] = [await makeAgent(h, t, asking), await makeAgent(h, t, asking)];
const limited = await t.parley.apiKeys.create({ name: "limited", role: "editor", agentIds: [one] });

/** A call of an agent that waits for a person: the approval and its session. */
async function waiting(agentId: string) {
  const message = script('tool=memory_save args={"text":"a"} ; text="Saved."');
  const { sessionId } = await play(t, agentId, null, { message });
  const path = sessionPath(agentId, sessionId, "/tool-approvals");
  const { approvals } = (await t.call("GET", path)).body as { approvals: { id: string }[] };
  return { id: approvals[0]?.id as string, path };
}
interface Event {
  readonly action: string;
  readonly resourceId: string;
  readonly changes: readonly string[];
  readonly values: readonly { readonly field: string; readonly before: string | null; readonly after: string }[];
}
const seenBy = async (token: string) =>
  ((await t.call("GET", "/v1/audit-events?limit=200", { token })).body.data as Event[]).filter(({ action }) =>
    action.startsWith("approval."),
  );

test("events of decided and expired approvals are seen by who is limited to their agent, and by no other", async () => {
  const decided = await Promise.all([waiting(one), waiting(other)]);
  for (const [index, { id, path }] of decided.entries()) {
    const decision = { body: { approved: index === 0 } };
    expect((await t.call("POST", `${path}/${id}`, decision)).status).toBe(202);
  }
  const expired = await Promise.all([waiting(one), waiting(other)]);
  await h.sql`
    update approvals set created_at = created_at - interval '168 hours' where id = any(${expired.map(({ id }) => id)})`;
  await h.sql`select graphile_worker.add_job('pauses.sweep', max_attempts => 1)`;
  const all = await eventually(async () => {
    const events = await seenBy(t.token);
    return events.length === 4 ? events : null;
  });
  const idsOf = (events: readonly Event[], action: string) =>
    events.filter((event) => event.action === action).map(({ resourceId }) => resourceId);
  expect(idsOf(all, "approval.decide").sort()).toEqual(decided.map(({ id }) => id).sort());
  const said = new Map(all.map(({ resourceId, changes, values }) => [resourceId, { changes, values }]));
  for (const [index, { id }] of decided.entries())
    expect(said.get(id)).toEqual({
      changes: ["status"],
      values: [{ field: "status", before: "pending", after: index === 0 ? "approved" : "denied" }],
    });
  expect(idsOf(all, "approval.expire").sort()).toEqual(expired.map(({ id }) => id).sort());
  const few = await seenBy(limited.token);
  expect(idsOf(few, "approval.decide")).toEqual([decided[0]?.id as string]);
  expect(idsOf(few, "approval.expire")).toEqual([expired[0]?.id as string]);
  const rows = await h.sql<{ agentId: string; rows: number }[]>`
    select agent_id, count(*)::int as rows from audit_events
    where tenant_id = ${t.id} and action like 'approval.%' group by agent_id`;
  expect(new Map(rows.map(({ agentId, rows }) => [agentId, rows]))).toEqual(
    new Map([
      [one, 2],
      [other, 2],
    ]),
  );
});
