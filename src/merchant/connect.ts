import type { Static } from "@sinclair/typebox";
import type { Ctx } from "../kernel/context.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { fragment } from "../kernel/seal.ts";
import { faultOf } from "./fault.ts";
import { type BillingAccount, type BillingProvider, checkTimeoutMs } from "./provider.ts";
import { openBilling } from "./providers.ts";
import {
  type BillingProviderName,
  billingAliases,
  type GuardFields,
  type GuardRule,
  type MerchantConnection,
  type MerchantConnectionCreate,
  type MerchantConnectionUpdate,
} from "./schema.ts";
import {
  changeMerchantConnection,
  findCurrentConnection,
  getCurrentConnection,
  type MerchantConnectionRow,
  type NewMerchantConnection,
  showMerchantConnection,
} from "./store.ts";

/** `GET /v1/merchant-connection`: null when there is none. */
export async function readMerchantConnection(
  sql: AnySql,
  tenantId: string,
): Promise<{ connection: MerchantConnection | null }> {
  const row = await findCurrentConnection(sql, tenantId);
  return { connection: row === null ? null : showMerchantConnection(row) };
}

/**
 * Returns the connection of `POST /v1/merchant-connection`, to be stored in place of the
 * current one, once the provider has accepted its credential. Throws 400, 422
 * `merchant_credential_invalid`, 503 `merchant_provider_unavailable`.
 */
export async function verifyMerchant(
  ctx: Ctx,
  tenantId: string,
  fields: Static<typeof MerchantConnectionCreate>,
): Promise<NewMerchantConnection> {
  const { environment, credential } = fields;
  const provider = (billingAliases as Record<string, BillingProviderName>)[fields.provider] ?? fields.provider;
  const account = { provider: provider as BillingProviderName, environment, credential };
  const guard = readGuard(fields.guard ?? { enabled: false });
  const merchantAccountId = await verifyCredential(ctx, account);
  const id = newId("merchantConnection");
  return {
    id,
    tenantId,
    provider: account.provider,
    environment,
    merchantAccountId,
    sealedCredential: ctx.sealer.seal(credential, id),
    keyFragment: fragment(credential),
    guard,
  };
}

/**
 * `PATCH /v1/merchant-connection`: returns what writes the change, once a new credential
 * is verified, and returns the connection as it was and as it is. Throws 400, 404, 409 `merchant_account_mismatch`,
 * 422 `merchant_credential_invalid`, 503 `merchant_provider_unavailable`; then
 * nothing is changed.
 */
export async function updateMerchantConnection(
  ctx: Ctx,
  sql: AnySql,
  tenantId: string,
  { credential, status, guard }: Static<typeof MerchantConnectionUpdate>,
): Promise<(inner: Tx) => Promise<{ before: MerchantConnection; after: MerchantConnection }>> {
  const row = await getCurrentConnection(sql, tenantId);
  const change = {
    sealedCredential: credential === undefined ? undefined : ctx.sealer.seal(credential, row.id),
    keyFragment: credential === undefined ? undefined : fragment(credential),
    status,
    guard: guard === undefined ? undefined : readGuard(guard),
  };
  if (credential !== undefined) {
    const accountId = await verifyCredential(ctx, { ...row, credential });
    if (accountId !== row.merchantAccountId) throw new ApiError("merchant_account_mismatch");
  }
  return async (inner) => {
    const { before, after } = await changeMerchantConnection(inner, row.id, change);
    return { before: showMerchantConnection(before), after: showMerchantConnection(after) };
  };
}

/** Opens a merchant's account with the connection's credential; nothing is sent yet. A request may take `limitMs`. */
export function openMerchantAccount(ctx: Ctx, row: MerchantConnectionRow, limitMs: number): BillingProvider {
  const credential = ctx.sealer.open(row.sealedCredential, row.id);
  return openBilling(ctx, { ...row, credential }, limitMs);
}

/** An enabled guard that asks for nothing would let everybody pass. */
function readGuard({ enabled, productIds = [], meterId = null }: GuardFields): GuardRule {
  if (enabled && productIds.length === 0 && meterId === null)
    throw invalid("/guard", "needs at least one of productIds, or a meterId, when it is enabled");
  return { enabled, productIds, meterId };
}

async function verifyCredential(ctx: Ctx, account: BillingAccount): Promise<string> {
  try {
    return await openBilling(ctx, account, checkTimeoutMs).account();
  } catch (error) {
    const { kind, reason } = faultOf(error);
    if (kind !== "unauthorized") throw new ApiError("merchant_provider_unavailable");
    throw new ApiError("merchant_credential_invalid", {
      ...(reason === "other_mode" && { message: "The credential is for the other environment." }),
      ...(reason === "organization_ambiguous" && { message: "The credential must belong to one organization." }),
    });
  }
}
