import { afterAll } from "bun:test";
import type { MerchantConnectionCreate, MerchantEvent } from "parley/client";
import { PolarServer } from "../servers/polar.ts";
import { StripeServer } from "../servers/stripe.ts";
import { useService } from "./fixture.ts";
import { eventually, type Harness, type TestTenant } from "./harness.ts";
import { makeAgent } from "./seed.ts";
import { play, script } from "./turns.ts";

/** The service beside stand-ins for both billing providers. */
export interface MerchantFixture extends Harness {
  readonly polar: PolarServer;
  readonly stripe: StripeServer;
  /** A tenant with monetization on and an agent on the simulated model. */
  merchant(): Promise<Merchant>;
}

/** A tenant whose end users are billed. */
export interface Merchant extends TestTenant {
  readonly agentId: string;
  readonly organizationId: string;
  /** A token of the organization at Polar; the account at Stripe has `sk_test_` and `sk_live_` before its body. */
  readonly polarToken: string;
  readonly stripeKey: string;
  /** Connects one of the providers. */
  connect(provider: "polar" | "stripe", guard?: MerchantConnectionCreate["guard"]): Promise<{ id: string }>;
  /** Makes a customer at the connected provider's stand-in and binds the user to it. */
  bind(userId: string, provider?: "polar" | "stripe"): Promise<string>;
  /** Runs a turn of a new session to its end, and returns its id. */
  turn(userId: string, text?: string): Promise<string>;
  /** A turn's event, once it has this status. */
  event(turnId: string, status: MerchantEvent["status"], limitMs?: number): Promise<MerchantEvent>;
}

/** The service beside both stand-ins for the tests of a file, with a worker unless told otherwise. */
export async function useMerchants({ worker = true } = {}): Promise<MerchantFixture> {
  const polar = new PolarServer();
  const stripe = new StripeServer();
  await polar.start();
  await stripe.start();
  const env = { BILLING_A_API_URL: polar.url, BILLING_B_API_URL: stripe.url };
  const h = await useService({ env, worker });
  afterAll(() => Promise.all([polar.stop(), stripe.stop()]));
  return {
    ...h,
    polar,
    stripe,
    merchant: () => makeMerchant(h, polar, stripe),
  };
}

let count = 0;

async function makeMerchant(h: Harness, polar: PolarServer, stripe: StripeServer): Promise<Merchant> {
  const t = await h.tenant();
  await h.sql`update tenants set monetization = true where id = ${t.id}`;
  const agentId = await makeAgent(h, t);
  const mark = `m${++count}0000000000`;
  const organizationId = `org-${mark}`;
  const polarToken = `polar_oat_${mark}`;
  const stripeKey = `sk_test_${mark}`;
  polar.tokens.set(polarToken, [organizationId]);
  stripe.keys.set(stripeKey, `acct_${mark}`);
  stripe.keys.set(stripeKey.replace("test", "live"), `acct_${mark}`);
  let connected: "polar" | "stripe" = "polar";
  return {
    ...t,
    agentId,
    organizationId,
    polarToken,
    stripeKey,
    connect: async (provider, guard) => {
      connected = provider;
      const credential = provider === "polar" ? polarToken : stripeKey;
      const body = { provider, environment: "sandbox" as const, credential, ...(guard !== undefined && { guard }) };
      return (await t.parley.merchantConnection.create(body)).connection;
    },
    bind: async (userId, provider = connected) => {
      const customerId = provider === "polar" ? polar.customer(organizationId) : stripe.customer(`acct_${mark}`);
      await t.parley.merchantBindings.set(userId, { customerId });
      return customerId;
    },
    turn: async (userId, text = "chunks=1") => {
      const played = await play(t, agentId, null, { message: script(text), userId, stream: false });
      return played.turnId;
    },
    event: (turnId, status, limitMs) =>
      eventually(async () => {
        const { events } = await t.parley.merchantEvents.list({ status, limit: 200 });
        return events.find((event) => event.turnId === turnId);
      }, limitMs),
  };
}
