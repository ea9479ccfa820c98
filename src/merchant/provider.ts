import type { BillingEnvironment, BillingProviderName, GuardRule } from "./schema.ts";

/** One usage event as it is reported to a provider; the `payload` of `GET /v1/merchant-usage-events` shows it. */
export interface UsageReport {
  readonly customer_id: string;
  /** The `mev_` id, the same at every retry, so that the provider counts an event once. */
  readonly external_id: string;
  readonly name: string;
  readonly timestamp: string;
  readonly metadata: Readonly<Record<string, string | number>>;
}

/** What became of one report. `later`: it did not arrive, and is sent again without anybody asking. */
export interface UsageReceipt {
  readonly outcome: "accepted" | "failed" | "expired" | "uncertain" | "later";
  readonly code: string | null;
  readonly retryAfterMs: number | null;
}

/** Whether a customer has what a guard asks for; true where it does not ask. */
export interface Eligibility {
  readonly subscribed: boolean;
  readonly funded: boolean;
}

/** A merchant's account at a billing provider. Everything but `deliver` rejects with a `BillingFault`. */
export interface BillingProvider {
  /** Reports that `deliver` takes at most. */
  readonly batchMax: number;
  /** The provider refuses events older than this; null: it has no limit. */
  readonly eventAgeMaxMs: number | null;
  /** Returns the id of the account that the credential belongs to. */
  account(): Promise<string>;
  hasCustomer(customerId: string): Promise<boolean>;
  eligibility(customerId: string, guard: GuardRule): Promise<Eligibility>;
  /** Sends each report once and returns one receipt for each, in the same order. Never rejects. */
  deliver(reports: readonly UsageReport[]): Promise<readonly UsageReceipt[]>;
}

/** What is needed to open an account. */
export interface BillingAccount {
  readonly provider: BillingProviderName;
  readonly environment: BillingEnvironment;
  readonly credential: string;
}

/** A request that a caller waits for takes at most this long; less than a database transaction may. */
export const checkTimeoutMs = 6_000;
/** A delivery waits this long for its receipt. */
export const deliverTimeoutMs = 10_000;
