import type { ChangedValue } from "../kernel/audit/changed-values.ts";
import type { AuditActor } from "../kernel/auth/actor.ts";
import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { olderThan, placeInTime, type TimePlace } from "../kernel/database/keyset.ts";
import { type Page, readTimeCursor, timePage } from "../kernel/http/page.ts";
import type { IdOf } from "../kernel/ids.ts";
import { actorName } from "./actor-name.ts";

/** Audit events are kept for this long. */
const auditKeepDays = 400;
/** How many of them one statement of the sweep deletes. */
const sweepStepRows = 5_000;

/** Who did what, as the interface shows it. */
interface AuditEvent {
  readonly id: IdOf<"auditEvent">;
  readonly at: string;
  readonly actor: AuditActor;
  /** What the member or the API key is called now; null where that is not known, or it is gone. */
  readonly actorName: string | null;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string | null;
  readonly requestId: string | null;
  readonly changes: readonly string[];
  readonly values: readonly ChangedValue[];
}

/** Which events a list holds: those that match every filter that is given. */
interface AuditFilter {
  readonly action: string | undefined;
  readonly actorId: string | undefined;
  readonly resourceId: string | undefined;
  /** Not before this. */
  readonly from: Date | undefined;
  /** Before this. */
  readonly to: Date | undefined;
  /** Null: of everything; else of these agents, as far as it is known of which an event is. */
  readonly agentIds: AgentIds;
  readonly cursor: string | undefined;
  readonly limit: number;
}

interface EventRow {
  id: IdOf<"auditEvent">;
  moment: Date;
  actorType: AuditActor["type"];
  actorId: string | null;
  actorName: string | null;
  action: string;
  resourceId: string | null;
  requestId: string | null;
  changes: string[];
  values: ChangedValue[] | null;
}

/** Returns the columns of an `EventRow`, of the table under the alias `e`. */
function eventColumns(sql: AnySql) {
  const actor = { type: sql`e.actor_type`, id: sql`e.actor_id`, tenantId: sql`e.tenant_id` };
  return sql`e.id, e.at as moment, e.actor_type, e.actor_id, e.action, e.resource_id, e.request_id, e.changes, e.changed_values as values,
      ${actorName(sql, actor)} as actor_name`;
}

/** Returns a page of a tenant's events, newest first. Throws 400 `invalid_cursor`, also for the cursor of other filters. */
export async function listAuditEvents(
  sql: AnySql,
  tenantId: string,
  { action, actorId, resourceId, from, to, agentIds, cursor, limit }: AuditFilter,
): Promise<Page<AuditEvent>> {
  // Not the time: its beginning moves while somebody reads what is of the last hour.
  const list = JSON.stringify(["audit", action ?? null, actorId ?? null, resourceId ?? null]);
  const place = readTimeCursor(list, cursor);
  const rows = await sql<(EventRow & TimePlace)[]>`
    select ${eventColumns(sql)}, ${placeInTime(sql, "e.at")}
    from audit_events e
    where e.tenant_id = ${tenantId}
      ${action === undefined ? sql`` : sql`and e.action = ${action}`}
      ${actorId === undefined ? sql`` : sql`and e.actor_id = ${actorId}`}
      ${resourceId === undefined ? sql`` : sql`and e.resource_id = ${resourceId}`}
      ${from === undefined ? sql`` : sql`and e.at >= ${from}`}
      ${to === undefined ? sql`` : sql`and e.at < ${to}`}
      ${andOf(sql, sql`e.agent_id`, agentIds)} ${olderThan(sql, place, "e.at", "e.id")}
    order by e.at desc, e.id desc limit ${limit + 1}`;
  return timePage(list, rows, limit, show);
}

/** Returns an event of a tenant as the list shows it; null when it is gone. */
export async function findAuditEvent(sql: AnySql, tenantId: string, id: string): Promise<AuditEvent | null> {
  const [row] = await sql<EventRow[]>`
    select ${eventColumns(sql)} from audit_events e where e.id = ${id} and e.tenant_id = ${tenantId}`;
  return row === undefined ? null : show(row);
}

function show({ moment, actorType, actorId, actorName, action, values, ...row }: EventRow): AuditEvent {
  const { id, resourceId, requestId, changes } = row;
  return {
    ...{ id, at: moment.toISOString(), actor: { type: actorType, id: actorId }, actorName },
    ...{ action, resourceType: action.slice(0, action.indexOf(".")), resourceId },
    ...{ requestId, changes, values: values ?? [] },
  };
}

/** The job `audit.sweep`: deletes events older than `auditKeepDays`, in steps. */
export async function sweepAuditEvents(sql: AnySql): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from audit_events where id in (
        select id from audit_events where at < now() - make_interval(days => ${auditKeepDays}) limit ${sweepStepRows})`;
    if (count < sweepStepRows) return;
  }
}
