import type { Ctx } from "../kernel/context.ts";
import { polar } from "./polar.ts";
import type { BillingProviderName, Environment, Guard } from "./schema.ts";
import { stripe } from "./stripe.ts";

/** One usage event as it is reported (document 2, "Merchant usage event"). */
export interface UsageReport {
  readonly customer_id: string;
  /** The `mev_` id, the same at every retry: the provider counts an event once. */
  readonly external_id: string;
  readonly name: string;
  readonly timestamp: string;
  readonly metadata: Readonly<Record<string, string | number>>;
}

/** What became of one report. `later`: it did not arrive and is sent again by itself. */
export interface Receipt {
  readonly outcome: "accepted" | "failed" | "expired" | "uncertain" | "later";
  readonly code: string | null;
  readonly retryAfterMs: number | null;
}

/** What a customer has of what a guard asks for; true where it does not ask. */
export interface Eligibility {
  readonly subscribed: boolean;
  readonly funded: boolean;
}

/** A merchant's account at a billing provider. Everything but `deliver` rejects with a `BillingFault`. */
export interface BillingProvider {
  /** Reports taken in one go. */
  readonly batchMax: number;
  /** An event older than this is not taken any more; null: however old. */
  readonly eventAgeMaxMs: number | null;
  /** The id of the account that the credential belongs to. */
  account(): Promise<string>;
  hasCustomer(customerId: string): Promise<boolean>;
  eligibility(customerId: string, guard: Guard): Promise<Eligibility>;
  /** Sends each report once and answers one receipt for each, in the same order. Never rejects. */
  deliver(reports: readonly UsageReport[]): Promise<readonly Receipt[]>;
}

/** What opens an account. */
export interface Account {
  readonly provider: BillingProviderName;
  readonly environment: Environment;
  readonly credential: string;
}

/** A request that somebody waits for takes at most this long; less than a database transaction may. */
export const checkTimeoutMs = 6_000;
/** A delivery waits this long for its receipt. */
export const deliverTimeoutMs = 10_000;

/** Opens a merchant's account; nothing is sent yet. A request may take `limitMs`. */
export function openBilling(
  { config }: Pick<Ctx, "config">,
  { provider, ...account }: Account,
  limitMs: number,
): BillingProvider {
  const { billingA, billingB } = config.endpoints;
  return provider === "billing_a" ? polar(billingA, account, limitMs) : stripe(billingB, account, limitMs);
}
