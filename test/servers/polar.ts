import { type StandInRequest, type StandInResponse, StandInServer } from "./stand-in.ts";

/** A customer of an organization at Polar. */
export interface PolarCustomer {
  readonly organizationId: string;
  /** Product ids with the subscription's status, as the customer's state shows them. */
  subscriptions: { product_id: string; status: string }[];
  meters: { meter_id: string; balance: number }[];
}

/** An event that Polar has taken. */
export interface PolarEvent {
  readonly name: string;
  readonly customer_id: string;
  readonly external_id: string;
  readonly timestamp: string;
  readonly metadata: Record<string, unknown>;
}

/** A stand-in for Polar's API: bearer tokens, its paths, its validation, its way to take an event once. */
export class PolarServer extends StandInServer {
  /** Organizations by token. */
  readonly tokens = new Map<string, string[]>();
  readonly customers = new Map<string, PolarCustomer>();
  /** Taken events by their external id. */
  readonly events = new Map<string, PolarEvent>();

  constructor() {
    super((request) => this.#reply(request));
  }

  /** A new customer's id. */
  customer(organizationId: string, fields: Partial<PolarCustomer> = {}): string {
    const id = crypto.randomUUID();
    this.customers.set(id, { organizationId, subscriptions: [], meters: [], ...fields });
    return id;
  }

  #reply(request: StandInRequest): StandInResponse {
    const organizations = this.tokens.get(request.token);
    if (organizations === undefined) return failure(401, "Unauthorized", "Invalid or missing access token.");
    if (request.headers["polar-version"] === undefined) return failure(400, "BadRequest", "no version");
    if (request.method === "POST" && request.path === "/v1/events/ingest") return this.#ingest(request, organizations);
    if (request.method !== "GET") return failure(404, "ResourceNotFound", "Not found");
    if (request.path === "/v1/organizations/") return listed(organizations.map((id) => ({ id, name: id })));
    const [, id, state] = /^\/v1\/customers\/([^/]+)(\/state)?$/.exec(request.path) ?? [];
    return id === undefined ? failure(404, "ResourceNotFound", "Not found") : this.#customer(id, state, organizations);
  }

  #customer(id: string, state: string | undefined, organizations: readonly string[]): StandInResponse {
    if (!isUuid(id)) return invalid([["path", "id"]]);
    const customer = this.customers.get(id);
    if (customer === undefined || !organizations.includes(customer.organizationId))
      return failure(404, "ResourceNotFound", "Not found");
    const shown = { id, organization_id: customer.organizationId, email: "somebody@example.com" };
    if (state === undefined) return { status: 200, body: shown };
    const active_subscriptions = customer.subscriptions.filter(({ status }) => ["active", "trialing"].includes(status));
    return { status: 200, body: { ...shown, active_subscriptions, active_meters: customer.meters } };
  }

  /** All events or none: one that is not valid refuses the batch. */
  #ingest(request: StandInRequest, organizations: readonly string[]): StandInResponse {
    const { events } = JSON.parse(request.text) as { events: PolarEvent[] };
    const broken = events.flatMap((event, index) =>
      this.#isValid(event, organizations) ? [] : [["body", "events", index, "customer_id"]],
    );
    if (broken.length > 0) return invalid(broken);
    const fresh = events.filter(({ external_id }) => !this.events.has(external_id));
    for (const event of fresh) this.events.set(event.external_id, event);
    return { status: 200, body: { inserted: fresh.length, duplicates: events.length - fresh.length } };
  }

  #isValid(event: PolarEvent, organizations: readonly string[]): boolean {
    const { name, customer_id, timestamp, metadata } = event;
    const organization = this.customers.get(customer_id)?.organizationId;
    const values = Object.values(metadata);
    return (
      typeof name === "string" &&
      organization !== undefined &&
      organizations.includes(organization) &&
      Date.parse(timestamp) <= Date.now() &&
      values.every((value) => typeof value === "number" || (typeof value === "string" && /^.{1,500}$/s.test(value)))
    );
  }
}

function listed(items: readonly unknown[]): StandInResponse {
  return { status: 200, body: { items, pagination: { total_count: items.length, max_page: 1 } } };
}

function failure(status: number, error: string, detail: string): StandInResponse {
  return { status, body: { error, detail } };
}

function invalid(places: readonly unknown[][]): StandInResponse {
  const detail = places.map((loc) => ({ loc, msg: "Customer does not exist.", type: "value_error" }));
  return { status: 422, body: { error: "RequestValidationError", detail } };
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
