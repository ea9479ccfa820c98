import type { Ctx } from "../kernel/context.ts";
import { polar } from "./polar.ts";
import type { BillingAccount, BillingProvider } from "./provider.ts";
import { stripe } from "./stripe.ts";

/** Opens a merchant's account; nothing is sent yet. A request may take `limitMs` milliseconds. */
export function openBilling(
  { config }: Pick<Ctx, "config">,
  { provider, ...account }: BillingAccount,
  limitMs: number,
): BillingProvider {
  const { billingA, billingB } = config.endpoints;
  return provider === "billing_a" ? polar(billingA, account, limitMs) : stripe(billingB, account, limitMs);
}
