import { type Static, Type } from "@sinclair/typebox";
import { Component } from "../kernel/http/component.ts";
import { Characters, Closed, Digits, Nullable, OneOf, pageQuery, UserId } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";

/** The billing providers by their labels; the interface never shows the vendors' names (docs/decisions/billing.md). */
export const billingProviders = ["billing_a", "billing_b"] as const;
export type BillingProviderName = (typeof billingProviders)[number];
/** The vendors' own names, accepted in requests; responses show the label. */
export const billingAliases = {
  polar: "billing_a",
  stripe: "billing_b",
} as const satisfies Record<string, BillingProviderName>;

/** The name of the events that report a turn's tokens; customers' meters filter by it. */
export const usageEventName = "parley.model_tokens.v1";

export type BillingEnvironment = "sandbox" | "live";

/** A summary covers so many UTC days when the request does not say. */
export const summaryDaysDefault = 30;
/** A summary covers at most so many UTC days. */
export const summaryDaysMax = 90;
/** A guard names at most this many products. */
const guardProductsMax = 100;
/** A vendor's id has at most this many characters. */
const vendorIdLengthMax = 255;
/** A credential has at most this many characters; vendors' tokens stay far below. */
const credentialLengthMax = 4_096;

/** An id that a vendor issued. It is put into URL paths, so it holds no character that has a meaning there. */
const VendorId = Type.String({
  example: "cus_1",
  maxLength: vendorIdLengthMax,
  pattern: "^[A-Za-z0-9_-][A-Za-z0-9_.:-]*$",
  errorMessage: `must be an id of 1 to ${vendorIdLengthMax} letters, digits, "_", "-", "." and ":"`,
});

/** A credential is sent in a header, where other characters would fail at every request. */
const Credential = Type.String({
  example: "sk_test_0123456789",
  minLength: 1,
  maxLength: credentialLengthMax,
  pattern: "^[!-~]+$",
  errorMessage: `must be 1 to ${credentialLengthMax} printable ASCII characters without spaces`,
});

const GuardFields = Component("MerchantGuard", {
  enabled: Type.Boolean(),
  productIds: Type.Optional(Type.Array(VendorId, { maxItems: guardProductsMax, uniqueItems: true })),
  meterId: Type.Optional(Nullable(VendorId)),
});
export type GuardFields = Static<typeof GuardFields>;

export const MerchantConnectionCreate = Component("MerchantConnectionCreate", {
  provider: OneOf(...billingProviders, ...(Object.keys(billingAliases) as (keyof typeof billingAliases)[])),
  environment: OneOf<BillingEnvironment>("sandbox", "live"),
  credential: Credential,
  guard: Type.Optional(GuardFields),
});

export const MerchantConnectionUpdate = Component("MerchantConnectionUpdate", {
  credential: Type.Optional(Credential),
  status: Type.Optional(OneOf<"active" | "disconnected">("active", "disconnected")),
  guard: Type.Optional(GuardFields),
});

/** An end user that can be bound: not the empty one, which is the tenant itself. */
const BoundUserId = Characters({ min: 1, max: 256 });

export const BindingPath = Closed({ userId: BoundUserId });
export const BindingPut = Component("MerchantBindingSet", { customerId: VendorId });
export const BindingQuery = Closed({ ...pageQuery, userId: Type.Optional(UserId) });

/** The statuses of a usage event; their moves are in `states.ts`. */
export const usageEventStatuses = [
  "pending",
  "accepted",
  "failed",
  "uncertain",
  "unmapped",
  "incomplete",
  "discarded",
  "expired",
] as const;
export type UsageEventStatus = (typeof usageEventStatuses)[number];

export const UsageEventPath = Closed({ id: Id("merchantEvent") });
export const UsageEventQuery = Closed({ ...pageQuery, status: Type.Optional(OneOf(...usageEventStatuses)) });
export const UsageEventSummaryQuery = Closed({
  days: Type.Optional(Digits({ minimum: 1, maximum: summaryDaysMax, default: summaryDaysDefault })),
});

/** What an end user needs before a turn: one of the products, or a balance on the meter. */
export interface GuardRule {
  readonly enabled: boolean;
  readonly productIds: readonly string[];
  readonly meterId: string | null;
}

/** A merchant connection in the interface's form: never its credential. */
export interface MerchantConnection {
  readonly id: string;
  readonly provider: BillingProviderName;
  readonly environment: BillingEnvironment;
  readonly status: "active" | "disconnected";
  readonly merchantAccountId: string;
  readonly keyFragment: string;
  readonly guard: GuardRule;
  readonly configVersion: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Which customer an end user is. */
export interface Binding {
  readonly userId: string;
  readonly customerId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}
