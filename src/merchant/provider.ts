import type { BillingEnvironment, BillingProviderName, GuardRule } from "./schema.ts";

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
export interface UsageReceipt {
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
  eligibility(customerId: string, guard: GuardRule): Promise<Eligibility>;
  /** Sends each report once and answers one receipt for each, in the same order. Never rejects. */
  deliver(reports: readonly UsageReport[]): Promise<readonly UsageReceipt[]>;
}

/** What opens an account. */
export interface BillingAccount {
  readonly provider: BillingProviderName;
  readonly environment: BillingEnvironment;
  readonly credential: string;
}

/** A request that somebody waits for takes at most this long; less than a database transaction may. */
export const checkTimeoutMs = 6_000;
/** A delivery waits this long for its receipt. */
export const deliverTimeoutMs = 10_000;
