import { afterAll } from "bun:test";
import { createHmac } from "node:crypto";
import type { Form } from "../../src/kernel/errors.ts";
import { type ApiResponse, type CallOptions, type Harness, startHarness, type TestTenant } from "../harness/harness.ts";
import type { Workers } from "../harness/service.ts";
import { McpServer } from "../servers/mcp.ts";
import { PolarServer } from "../servers/polar.ts";
import { SlackServer } from "../servers/slack.ts";
import { StripeServer } from "../servers/stripe.ts";
import { TelegramServer } from "../servers/telegram.ts";
import { startVendor, type VendorServer } from "../servers/vendor.ts";

const secret = "a dashboard secret of 32 letters";

/** The service with a worker, beside stand-ins for everybody it talks to. */
export class World {
  readonly h: Harness;
  readonly workers: Workers;
  readonly polar: PolarServer;
  readonly stripe: StripeServer;
  readonly slack: SlackServer;
  readonly telegram: TelegramServer;
  readonly mcp: McpServer;
  /** A model vendor that lists one model, `gpt-4o-mini`. */
  readonly vendor: VendorServer;

  private constructor(
    h: Harness,
    workers: Workers,
    polar: PolarServer,
    stripe: StripeServer,
    slack: SlackServer,
    telegram: TelegramServer,
  ) {
    this.h = h;
    this.workers = workers;
    this.polar = polar;
    this.stripe = stripe;
    this.slack = slack;
    this.telegram = telegram;
    this.mcp = new McpServer();
    this.vendor = startVendor(() => Response.json({ data: [{ id: "gpt-4o-mini" }] }));
  }

  static async open(): Promise<World> {
    const [polar, stripe] = [new PolarServer(), new StripeServer()];
    const [slack, telegram] = [new SlackServer(), new TelegramServer()];
    await Promise.all([polar.start(), stripe.start(), slack.start(), telegram.start()]);
    const env = {
      DASHBOARD_JWT_SECRET: secret,
      BILLING_A_API_URL: polar.url,
      BILLING_B_API_URL: stripe.url,
      CHAT_A_API_URL: slack.apiUrl,
      CHAT_B_API_URL: telegram.url,
    };
    const h = await startHarness({ env });
    return new World(h, await h.startWorkers(), polar, stripe, slack, telegram);
  }

  async close(): Promise<void> {
    await this.h.stop();
    await Promise.all([
      this.polar.stop(),
      this.slack.stop(),
      this.telegram.stop(),
      this.mcp.stop(),
      this.vendor.stop(),
    ]);
  }

  /** A dashboard sign-in of a tenant. */
  dashboard(tenantId: string, claims: object = { authUserId: "user_1" }): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const exp = Math.floor(Date.now() / 1000) + 3_600;
    const text = `${part({ alg: "HS256" })}.${part({ tenantId, exp, ...claims })}`;
    return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
  }
}

/** A world that is there before the first test of a file, and gone after the last. */
export async function useWorld(): Promise<World> {
  const w = await World.open();
  afterAll(() => w.close());
  return w;
}

/** A request, taken apart so that a test can change one part. */
export interface Call {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a call of an operation. */
export function send(t: TestTenant, op: string, form: Form | undefined, call: Call): Promise<ApiResponse> {
  const [method = "", path = ""] = op.split(" ");
  const options: CallOptions = {
    ...(form === undefined ? {} : { form }),
    ...(call.body === undefined ? {} : { body: call.body }),
    ...(call.token === undefined ? {} : { token: call.token }),
    ...(call.headers === undefined ? {} : { headers: call.headers }),
  };
  return t.call(method, `${pathWith(path, call.params ?? {})}${queryText(call.query)}`, options);
}

/** A path with its ids put in; `:version` and the like must be among them. */
export function pathWith(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/:([A-Za-z]+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`${path} was given no ${name}.`);
    return encodeURIComponent(value);
  });
}

function queryText(query: Call["query"]): string {
  return query === undefined ? "" : `?${new URLSearchParams(query)}`;
}
