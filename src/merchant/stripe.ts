import Stripe from "stripe";
import { idAt, type SentFields, sentFields, sentItems, textAt } from "../kernel/outbound/sent-fields.ts";
import { answered, BillingFault, faultOf, listed, orFault } from "./fault.ts";
import type { BillingAccount, BillingProvider, Eligibility, UsageReceipt, UsageReport } from "./provider.ts";
import { acceptedReceipt, receiptOf } from "./receipt.ts";
import type { BillingEnvironment, GuardRule } from "./schema.ts";
import { billingFetch } from "./wire.ts";

const apiUrl = "https://api.stripe.com";
/** Reports that one `deliver` takes; each is a request of its own. */
const batchMax = 20;
/** Concurrent requests of one delivery. */
const requestsAtOnce = 10;
/** Stripe refuses meter events that are 35 days old. */
const eventAgeMaxMs = 35 * 24 * 60 * 60 * 1000;
/** At most so many of a customer's subscriptions are checked. */
const subscriptionsMax = 300;

/** `billing_b`: opens an account at Stripe by a secret or restricted key. A request may take `limitMs`. */
export function stripe(
  baseUrl: string,
  { environment, credential }: Omit<BillingAccount, "provider">,
  limitMs: number,
): BillingProvider {
  const send = billingFetch(limitMs);
  const client = new Stripe(credential, {
    // The ledger decides whether a report is sent again.
    maxNetworkRetries: 0,
    telemetry: false,
    // `billingFetch` ends a request after `limitMs`. This value only has to be longer; without it Stripe's default would apply.
    timeout: 2 * limitMs,
    httpClient: Stripe.createFetchHttpClient(((url: string, init: RequestInit) =>
      send(url.replace(apiUrl, baseUrl), init)) as typeof fetch),
  });
  return {
    batchMax,
    eventAgeMaxMs,
    account: () => findAccount(client, environment, credential),
    hasCustomer: (customerId) => hasCustomer(client, customerId),
    eligibility: (customerId, guard) => eligibility(client, customerId, guard),
    deliver: (reports) => deliver(client, reports),
  };
}

/** Stripe's keys name their mode: `sk_test_…`, `rk_live_…`. */
async function findAccount(client: Stripe, environment: BillingEnvironment, credential: string): Promise<string> {
  const mode = /^[a-z]+_(test|live)_/.exec(credential)?.[1];
  if (mode !== undefined && (mode === "live") !== (environment === "live"))
    throw new BillingFault("unauthorized", "other_mode");
  const id = idAt(answered(await orFault(client.accounts.retrieveCurrent())).id);
  if (id === null) throw new BillingFault("garbled", "account_without_id");
  return id;
}

async function hasCustomer(client: Stripe, customerId: string): Promise<boolean> {
  try {
    return answered(await orFault(client.customers.retrieve(customerId))).deleted !== true;
  } catch (error) {
    const { kind } = faultOf(error);
    if (kind === "missing" || kind === "refused") return false;
    throw error;
  }
}

async function eligibility(
  client: Stripe,
  customerId: string,
  { productIds, meterId }: GuardRule,
): Promise<Eligibility> {
  const [subscribed, funded] = await Promise.all([
    productIds.length === 0 || knownCustomer(isSubscribed(client, customerId, productIds)),
    meterId === null || knownCustomer(hasCredit(client, customerId)),
  ]);
  return { subscribed, funded };
}

/** A customer that does not exist has neither a subscription nor credit. */
async function knownCustomer(check: Promise<boolean>): Promise<boolean> {
  try {
    return await check;
  } catch (error) {
    const { kind, reason } = faultOf(error);
    if (kind === "missing" || reason === "resource_missing") return false;
    throw error;
  }
}

async function isSubscribed(client: Stripe, customerId: string, productIds: readonly string[]): Promise<boolean> {
  let checked = 0;
  for (let after: string | null = null; checked < subscriptionsMax; ) {
    const page: Stripe.ApiList<Stripe.Subscription> = await orFault(
      client.subscriptions.list({
        customer: customerId,
        limit: 100,
        ...(after === null ? {} : { starting_after: after }),
      }),
    );
    // One subscription that cannot be read is none, and says nothing of the others.
    const subscriptions = listed(page, "data");
    if (subscriptions.some((subscription) => isOf(subscription, productIds))) return true;
    checked += subscriptions.length;
    after = idAt(subscriptions.at(-1)?.id);
    if (!page.has_more || after === null) return false;
  }
  return false;
}

function isOf({ status, items }: SentFields, productIds: readonly string[]): boolean {
  if (status !== "active" && status !== "trialing") return false;
  return sentItems(sentFields(items)?.data).some(({ price }) => {
    const product = sentFields(price)?.product;
    return productIds.includes(textAt(product) ?? textAt(sentFields(product)?.id) ?? "");
  });
}

/** Stripe keeps billing credits per customer, not per meter: what counts is the credit that can be used for metered prices. */
async function hasCredit(client: Stripe, customerId: string): Promise<boolean> {
  const summary = await orFault(
    client.billing.creditBalanceSummaries.retrieve({
      customer: customerId,
      filter: { type: "applicability_scope", applicability_scope: { price_type: "metered" } },
    }),
  );
  return listed(summary, "balances").some(({ available_balance }) => {
    const value = sentFields(sentFields(available_balance)?.monetary)?.value;
    return typeof value === "number" && value > 0;
  });
}

async function deliver(client: Stripe, reports: readonly UsageReport[]): Promise<readonly UsageReceipt[]> {
  const receipts: UsageReceipt[] = [];
  for (let start = 0; start < reports.length; start += requestsAtOnce) {
    const together = reports.slice(start, start + requestsAtOnce);
    receipts.push(...(await Promise.all(together.map((report) => deliverOne(client, report)))));
  }
  return receipts;
}

/** One report is one meter event. Stripe accepts its identifier once. */
async function deliverOne(client: Stripe, report: UsageReport): Promise<UsageReceipt> {
  try {
    await orFault(
      client.billing.meterEvents.create({
        event_name: report.name,
        identifier: report.external_id,
        timestamp: Math.floor(Date.parse(report.timestamp) / 1000),
        payload: { stripe_customer_id: report.customer_id, value: String(report.metadata.total_tokens ?? 0) },
      }),
    );
    return acceptedReceipt;
  } catch (error) {
    const fault = faultOf(error);
    if (fault.kind !== "refused") return receiptOf(fault);
    // Refused because Stripe has it already, from an earlier attempt whose receipt was lost. The error has no code of its own.
    if (fault.reason === "duplicate_meter_event" || /already exists with identifier/i.test(fault.detail))
      return acceptedReceipt;
    if (fault.reason === "timestamp_too_far_in_past")
      return { outcome: "expired", code: fault.reason, retryAfterMs: null };
    return receiptOf(fault);
  }
}
