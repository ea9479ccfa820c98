import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";

/** Who did something, and at which tenant; each is an expression. */
interface ActorSql {
  readonly type: postgres.Fragment;
  readonly id: postgres.Fragment;
  readonly tenantId: postgres.Fragment;
}

/** Returns the SQL of what an actor is called now: a member or an API key of the tenant; null where it has no name, or is gone. */
export function actorName(sql: AnySql, { type, id, tenantId }: ActorSql): postgres.Fragment {
  return sql`case ${type}
        when 'member' then (select coalesce(m.name, m.email) from members m where m.id = ${id} and m.tenant_id = ${tenantId})
        when 'api_key' then (select k.name from api_keys k where k.id = ${id} and k.tenant_id = ${tenantId})
      end`;
}
