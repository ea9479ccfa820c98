import type postgres from "postgres";
import { type AnySql, statementTimeoutMs } from "../database/client.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Whose an API key was when it was looked up last, up to `recalledMs` ago. It may be deleted, expired or another
 * form's by now: so nothing is done or told for it but by a statement that looks the key up itself (`keyStands`).
 */
export interface RecalledKey {
  readonly tenant: Tenant;
  /** The key's, in hexadecimal digits. */
  readonly digest: string;
  /** As a principal's. */
  readonly writeBefore: Date;
}

/** A key is looked up again after this time, in milliseconds. */
const recalledMs = 60_000;
/** So many keys are remembered; the one that was looked up first goes first. */
const recalledMax = 10_000;

interface Known {
  readonly tenant: Tenant;
  /** By the clock of this process, which is never set back or forward. */
  readonly foundAtMs: number;
  /** The database's clock when it was found. */
  readonly now: Date;
}

/** The keys of tenants whose requests need nothing but to be let in. */
export class RecalledKeys {
  readonly #known = new Map<string, Known>();

  /** A key was looked up: it is this tenant's; undefined: nobody's. `now` is the database's clock. */
  note(digest: string, tenant: Tenant | undefined, now = new Date()): void {
    this.#known.delete(digest);
    if (tenant === undefined || !isUnlimited(tenant)) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= recalledMax) this.#known.delete(oldest);
    this.#known.set(digest, { tenant, now, foundAtMs: performance.now() });
  }

  /** Returns whose a key was; null where that is not known, or too long ago. */
  recall(digest: string): RecalledKey | null {
    const known = this.#known.get(digest);
    if (known === undefined) return null;
    const agoMs = performance.now() - known.foundAtMs;
    if (agoMs > recalledMs) return null;
    const { tenant, now } = known;
    return { tenant, digest, writeBefore: new Date(now.getTime() + agoMs + statementTimeoutMs) };
  }
}

/** Returns whether nothing is counted or asked for a tenant's turn: `keyStands` has the same in SQL. */
function isUnlimited(tenant: Tenant): boolean {
  const { subscription, usageCredit, quotaTurnsPerDay, runningTurns, rateLimit, storedMib, monetization, deleting } =
    tenant;
  const isPaid = subscription === "active" && (usageCredit === null || usageCredit > 0);
  const isUncounted = quotaTurnsPerDay === null && runningTurns === null && rateLimit === null && storedMib === null;
  return isPaid && isUncounted && !monetization && !deleting;
}

/** What was recalled of a key, as expressions of a statement. */
interface RecalledColumns {
  readonly digest: postgres.Fragment;
  readonly tenantId: postgres.Fragment;
  readonly form: postgres.Fragment;
  readonly queuedTurns: postgres.Fragment;
}

/** Returns the condition that a key is still good, and its tenant still what was recalled. */
export function keyStands(sql: AnySql, { digest, tenantId, form, queuedTurns }: RecalledColumns): postgres.Fragment {
  return sql`exists (
      select 1 from api_keys k join tenants n on n.id = k.tenant_id
      where k.digest = decode(${digest}, 'hex') and k.tenant_id = ${tenantId} and (k.expires_at is null or k.expires_at > now())
        and n.deleted_at is null and n.deleting_at is null and n.form = ${form} and n.subscription = 'active'
        and (n.usage_credit is null or n.usage_credit > 0) and n.quota_turns_per_day is null and n.running_turns is null
        and n.queued_turns is not distinct from ${queuedTurns} and n.rate_limit is null and n.stored_mib is null and not n.monetization
    )`;
}
