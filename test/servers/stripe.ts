import { type StandInRequest, type StandInResponse, StandInServer } from "./stand-in.ts";

/** A customer of an account at Stripe. */
export interface StripeCustomer {
  readonly account: string;
  deleted: boolean;
  subscriptions: { id: string; status: string; products: string[] }[];
  /** Billing credits that metered prices may draw on, in cents. */
  credit: number;
}

/** A meter event that Stripe has taken. */
export interface MeterEvent {
  readonly event_name: string;
  readonly identifier: string;
  readonly timestamp: number;
  readonly customer: string;
  readonly value: string;
}

/** Stripe refuses events of this age. */
const eventAgeMaxSeconds = 35 * 24 * 60 * 60;
/** Subscriptions on one page, whatever is asked for, so that clients have to turn pages. */
const pageRows = 2;

/** A stand-in for Stripe's API: secret keys, form-encoded bodies, its errors, its way to take a meter event once. */
export class StripeServer extends StandInServer {
  /** Accounts by key. */
  readonly keys = new Map<string, string>();
  readonly customers = new Map<string, StripeCustomer>();
  /** Taken meter events by their identifier. */
  readonly events = new Map<string, MeterEvent>();

  constructor() {
    super((request) => this.#reply(request));
  }

  /** A new customer's id. */
  customer(account: string, fields: Partial<StripeCustomer> = {}): string {
    const id = `cus_${crypto.randomUUID().replaceAll("-", "").slice(0, 14)}`;
    this.customers.set(id, { account, deleted: false, subscriptions: [], credit: 0, ...fields });
    return id;
  }

  #reply(request: StandInRequest): StandInResponse {
    const account = this.keys.get(request.token);
    if (account === undefined) return failure(401, "invalid_request_error", null, "Invalid API Key provided");
    const { method, path, query } = request;
    if (method === "POST" && path === "/v1/billing/meter_events") return this.#meter(request, account);
    if (method !== "GET") return failure(404, "invalid_request_error", null, "Unrecognized request URL");
    if (path === "/v1/account") return { status: 200, body: { id: account, object: "account" } };
    if (path === "/v1/subscriptions") return this.#subscriptions(query, account);
    if (path === "/v1/billing/credit_balance_summary") return this.#credit(query, account);
    const id = /^\/v1\/customers\/([^/]+)$/.exec(path)?.[1];
    if (id === undefined) return failure(404, "invalid_request_error", null, "Unrecognized request URL");
    const customer = this.#find(id, account);
    if (customer === null) return noSuchCustomer(404, id);
    return { status: 200, body: { id, object: "customer", ...(customer.deleted && { deleted: true }) } };
  }

  #find(id: string, account: string): StripeCustomer | null {
    const customer = this.customers.get(id);
    return customer?.account === account ? customer : null;
  }

  #subscriptions(query: URLSearchParams, account: string): StandInResponse {
    const id = query.get("customer") ?? "";
    const customer = this.#find(id, account);
    if (customer === null) return noSuchCustomer(400, id);
    const after = customer.subscriptions.findIndex((known) => known.id === query.get("starting_after"));
    const rest = customer.subscriptions.slice(after + 1);
    const data = rest.slice(0, pageRows).map(({ id: subscription, status, products }) => ({
      id: subscription,
      object: "subscription",
      status,
      items: { object: "list", data: products.map((product) => ({ price: { id: `price_${product}`, product } })) },
    }));
    return { status: 200, body: { object: "list", data, has_more: rest.length > pageRows, url: "/v1/subscriptions" } };
  }

  #credit(query: URLSearchParams, account: string): StandInResponse {
    const id = query.get("customer") ?? "";
    const customer = this.#find(id, account);
    if (customer === null) return noSuchCustomer(400, id);
    const scope = query.get("filter[applicability_scope][price_type]");
    if (query.get("filter[type]") !== "applicability_scope" || scope !== "metered")
      return failure(400, "invalid_request_error", "parameter_missing", "Missing filter");
    const amount = { type: "monetary", monetary: { currency: "usd", value: customer.credit } };
    const balances = [{ available_balance: amount, ledger_balance: amount }];
    return { status: 200, body: { object: "billing.credit_balance_summary", balances, customer: id } };
  }

  #meter(request: StandInRequest, account: string): StandInResponse {
    const fields = new URLSearchParams(request.text);
    const event: MeterEvent = {
      event_name: fields.get("event_name") ?? "",
      identifier: fields.get("identifier") ?? "",
      timestamp: Number(fields.get("timestamp")),
      customer: fields.get("payload[stripe_customer_id]") ?? "",
      value: fields.get("payload[value]") ?? "",
    };
    if (request.headers["content-type"] !== "application/x-www-form-urlencoded")
      return failure(400, "invalid_request_error", null, "Not form-encoded");
    if (this.#find(event.customer, account) === null) return noSuchCustomer(400, event.customer);
    if (event.timestamp < Date.now() / 1000 - eventAgeMaxSeconds)
      return failure(400, "invalid_request_error", "timestamp_too_far_in_past", "The timestamp is too old.");
    if (this.events.has(event.identifier)) {
      const message = `An event already exists with identifier ${event.identifier}.`;
      return failure(400, "invalid_request_error", null, message);
    }
    this.events.set(event.identifier, event);
    return { status: 200, body: { object: "billing.meter_event", ...event, livemode: false } };
  }
}

function failure(status: number, type: string, code: string | null, message: string): StandInResponse {
  return { status, body: { error: { type, message, ...(code !== null && { code }) } } };
}

function noSuchCustomer(status: number, id: string): StandInResponse {
  return failure(status, "invalid_request_error", "resource_missing", `No such customer: '${id}'`);
}
