import { createPolarCore } from "@polar-sh/sdk/2026-10";
import { getCustomers, getStateCustomers } from "@polar-sh/sdk/2026-10/services/customers";
import { ingestEvents } from "@polar-sh/sdk/2026-10/services/events";
import { listOrganizations } from "@polar-sh/sdk/2026-10/services/organizations";
import { idAt, textAt } from "../kernel/outbound/sent-fields.ts";
import { BillingFault, faultOf, listed, orFault } from "./fault.ts";
import type { BillingAccount, BillingProvider, Eligibility, UsageReceipt, UsageReport } from "./provider.ts";
import { acceptedReceipt, receiptOf } from "./receipt.ts";
import type { GuardRule } from "./schema.ts";
import { billingFetch } from "./wire.ts";

const liveUrl = "https://api.polar.sh";
const sandboxUrl = "https://sandbox-api.polar.sh";
/** Reports in one request; together they are some 40 KiB. */
const batchMax = 100;

/** The statuses of subscriptions that count. Strings, because the client types them as another enumeration. */
const countingStatuses: ReadonlySet<string> = new Set(["active", "trialing"]);

type Client = ReturnType<typeof createPolarCore>;

/** `billing_a`: opens an organization at Polar by an organization access token. A request may take `limitMs`. */
export function polar(baseUrl: string, account: Omit<BillingAccount, "provider">, limitMs: number): BillingProvider {
  const client = openClient(baseUrl, account, limitMs);
  return {
    batchMax,
    eventAgeMaxMs: null,
    account: () => findOrganization(client),
    hasCustomer: (customerId) => hasCustomer(client, customerId),
    eligibility: (customerId, guard) => eligibility(client, customerId, guard),
    deliver: (reports) => deliver(client, reports),
  };
}

function openClient(
  baseUrl: string,
  { environment, credential }: Omit<BillingAccount, "provider">,
  limitMs: number,
): Client {
  // Polar's sandbox is a host of its own; a server that an operator configured in place of Polar serves both environments.
  const isSandbox = environment === "sandbox" && baseUrl === liveUrl;
  const client = createPolarCore({ accessToken: credential, baseUrl: isSandbox ? sandboxUrl : baseUrl });
  const send = billingFetch(limitMs);
  // The client's own transport does not tell a request that never left from one that may have arrived.
  client.sendRequest = ([url, init]) => send(url, init);
  return client;
}

async function findOrganization(client: Client): Promise<string> {
  const page = await orFault(listOrganizations(client)({ limit: 2 }));
  const [organization, another] = listed(page, "items");
  // A person's token reaches all their organizations, and an event does not say which one is meant.
  if (organization === undefined || another !== undefined)
    throw new BillingFault("unauthorized", "organization_ambiguous");
  const id = idAt(organization.id);
  if (id === null) throw new BillingFault("garbled", "organization_without_id");
  return id;
}

async function hasCustomer(client: Client, customerId: string): Promise<boolean> {
  try {
    await orFault(getCustomers(client)(customerId));
    return true;
  } catch (error) {
    // An id that is no UUID is refused before Polar searches for it.
    const { kind } = faultOf(error);
    if (kind === "missing" || kind === "refused") return false;
    throw error;
  }
}

/** A customer's state holds what is active: subscriptions, also those on trial, and meters with their balance. */
async function eligibility(
  client: Client,
  customerId: string,
  { productIds, meterId }: GuardRule,
): Promise<Eligibility> {
  try {
    const state = await orFault(getStateCustomers(client)(customerId));
    // One subscription or meter that cannot be read is none, and says nothing of the others.
    const subscribed = listed(state, "active_subscriptions").some(
      ({ product_id, status }) =>
        productIds.includes(textAt(product_id) ?? "") && countingStatuses.has(textAt(status) ?? ""),
    );
    const funded = listed(state, "active_meters").some(
      ({ meter_id, balance }) => meter_id === meterId && typeof balance === "number" && balance > 0,
    );
    return { subscribed: productIds.length === 0 || subscribed, funded: meterId === null || funded };
  } catch (error) {
    if (faultOf(error).kind !== "missing") throw error;
    return { subscribed: productIds.length === 0, funded: meterId === null };
  }
}

/**
 * Sends reports in one request. Polar accepts a batch as a whole or not at all, so
 * one that is refused is halved until each refused report is alone.
 */
async function deliver(client: Client, reports: readonly UsageReport[]): Promise<readonly UsageReceipt[]> {
  try {
    await orFault(ingestEvents(client)({ events: [...reports] }));
    return reports.map(() => acceptedReceipt);
  } catch (error) {
    const fault = faultOf(error);
    if (fault.kind !== "refused" || reports.length === 1) return reports.map(() => receiptOf(fault));
    const half = Math.ceil(reports.length / 2);
    return [...(await deliver(client, reports.slice(0, half))), ...(await deliver(client, reports.slice(half)))];
  }
}
