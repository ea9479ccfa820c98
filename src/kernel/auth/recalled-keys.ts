import type postgres from "postgres";
import type { AnySql } from "../database/client.ts";
import { statementTimeoutMs } from "../database/pooler-limits.ts";
import type { IdOf } from "../ids.ts";
import { type AccessRole, mayDo, type Permission, roles } from "./roles.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Whose an API key was when it was looked up last, up to `recalledMs` ago. It may be deleted, expired or another
 * form's by now: so nothing is done or told for it but by a statement that looks the key up itself (`keyStands`).
 */
export interface RecalledKey extends Permission {
  readonly tenant: Tenant;
  readonly keyId: IdOf<"apiKey">;
  /** As a principal's. */
  readonly writeBefore: Date;
}

/** A key is looked up again after this time, in milliseconds. */
const recalledMs = 60_000;
/** So many keys are remembered; the one that was looked up first goes first. */
const recalledMax = 10_000;

/** A key that was found. */
interface FoundKey extends Permission {
  readonly tenant: Tenant;
  readonly keyId: IdOf<"apiKey">;
  /** The database's clock when it was found. */
  readonly now: Date;
}

/** The keys of tenants whose requests need nothing but to be let in, by digest. */
export class RecalledKeys {
  /** With the time of this process' clock, which is never set back or forward. */
  readonly #known = new Map<string, FoundKey & { readonly foundAtMs: number }>();

  /** A key was looked up, and whose it is; null: nobody's. */
  note(digest: string, found: FoundKey | null): void {
    this.#known.delete(digest);
    if (found === null || !isUnlimited(found.tenant)) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= recalledMax) this.#known.delete(oldest);
    this.#known.set(digest, { ...found, foundAtMs: performance.now() });
  }

  /** Returns whose a key was; null where that is not known, or too long ago. */
  recall(digest: string): RecalledKey | null {
    const known = this.#known.get(digest);
    if (known === undefined) return null;
    const agoMs = performance.now() - known.foundAtMs;
    if (agoMs > recalledMs) return null;
    const { tenant, keyId, role, agentIds, now } = known;
    return { tenant, keyId, role, agentIds, writeBefore: new Date(now.getTime() + agoMs + statementTimeoutMs) };
  }
}

/** What the rules of `letIn` say, of a tenant's field and of its column in SQL. */
const rules = {
  none: { holds: (value: unknown) => value === null, sql: (column: string) => `${column} is null` },
  "none or above 0": {
    holds: (value: unknown) => value === null || Number(value) > 0,
    sql: (column: string) => `(${column} is null or ${column} > 0)`,
  },
  active: { holds: (value: unknown) => value === "active", sql: (column: string) => `${column} = 'active'` },
  no: { holds: (value: unknown) => value === false, sql: (column: string) => `not ${column}` },
};

/** What has to be in the row as it was when the key was looked up, because what is done for the request depends on it. */
type AsRecalled = "id" | "form" | "queuedTurns" | "hasBudgets";

/** The tenants of whose turns nothing is counted, and for whom nothing is asked: each field with its column and its rule. */
const letIn: Readonly<Record<Exclude<keyof Tenant, AsRecalled>, readonly [column: string, keyof typeof rules]>> = {
  subscription: ["n.subscription", "active"],
  usageCredit: ["n.usage_credit", "none or above 0"],
  quotaTurnsPerDay: ["n.quota_turns_per_day", "none"],
  runningTurns: ["n.running_turns", "none"],
  rateLimit: ["n.rate_limit", "none"],
  storedMib: ["n.stored_mib", "none"],
  monetization: ["n.monetization", "no"],
  deleting: ["(n.deleting_at is not null)", "no"],
};

/** Returns whether nothing is counted or asked for a tenant's turn. */
function isUnlimited(tenant: Tenant): boolean {
  return Object.entries(letIn).every(([field, [, rule]]) => rules[rule].holds(tenant[field as keyof Tenant]));
}

const isUnlimitedSql = Object.values(letIn)
  .map(([column, rule]) => rules[rule].sql(column))
  .join(" and ");

/** What was recalled of a key, as expressions of a statement. */
type RecalledColumns = Readonly<Record<"digest" | "tenantId" | "form" | "queuedTurns", postgres.Fragment>> & {
  /** Of all keys that the statement looks up. */
  readonly hasBudgets: boolean;
};

/** What is done for the key: it needs this role, and concerns this agent. */
interface DoneForKey {
  readonly role: AccessRole;
  readonly agentId: postgres.Fragment;
}

/** Returns the condition that a key is still good and may do this, and that its tenant still is what was recalled. */
export function keyStands(
  sql: AnySql,
  { digest, tenantId, form, queuedTurns, hasBudgets }: RecalledColumns,
  { role, agentId }: DoneForKey,
): postgres.Fragment {
  return sql`exists (
      select 1 from api_keys k join tenants n on n.id = k.tenant_id
      where k.digest = decode(${digest}, 'hex') and k.tenant_id = ${tenantId} and (k.expires_at is null or k.expires_at > now())
        and k.role in (${sql.unsafe(rolesFrom(role))}) and (k.agent_ids is null or ${agentId} = any(k.agent_ids))
        and n.form = ${form} and n.queued_turns is not distinct from ${queuedTurns}
        and ${hasBudgets ? sql`` : sql`not `}n.has_budgets and n.deleted_at is null and ${sql.unsafe(isUnlimitedSql)}
    )`;
}

/** The roles that may do what needs this one, as literals: the text of a statement must not depend on how many they are. */
function rolesFrom(role: AccessRole): string {
  return roles
    .filter((one) => mayDo(one, role))
    .map((one) => `'${one}'`)
    .join(", ");
}
