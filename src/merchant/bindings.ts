import type { Ctx } from "../kernel/context.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { readCursor, writeCursor } from "../kernel/http/page.ts";
import { openMerchantAccount } from "./connect.ts";
import { faultOf } from "./fault.ts";
import { checkTimeoutMs } from "./provider.ts";
import type { Binding } from "./schema.ts";
import { getCurrentConnection, type MerchantConnectionRow } from "./store.ts";

interface BindingRow {
  userId: string;
  customerId: string;
  createdAt: Date;
  updatedAt: Date;
}

/** Which bindings a list is to hold. */
export interface BindingFilter {
  /** Undefined: all. */
  readonly userId: string | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Returns a page of the current connection's bindings, sorted by `userId`. Throws 400 `invalid_cursor`, 404. */
export async function listBindings(
  sql: AnySql,
  tenantId: string,
  { userId, cursor, limit }: BindingFilter,
): Promise<{ bindings: Binding[]; nextCursor: string | null }> {
  const { id } = await getCurrentConnection(sql, tenantId);
  const list = `merchant-bindings:${id}`;
  const after = cursor === undefined ? null : String(readCursor(list, cursor, 1)[0]);
  const rows = await sql<BindingRow[]>`
    select user_id, customer_id, created_at, updated_at from merchant_bindings
    where connection_id = ${id}
      ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}
      ${after === null ? sql`` : sql`and user_id > ${after}`}
    order by user_id limit ${limit + 1}`;
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const nextCursor = rows.length > limit && last !== undefined ? writeCursor(list, [last.userId]) : null;
  return { bindings: shown.map(showBinding), nextCursor };
}

/**
 * Returns what binds an end user to a customer, in place of an earlier one, once the
 * provider knows the customer; it returns the binding as it was (null: there was none) and as it is. Throws 404, 422
 * `merchant_customer_not_found`, 503 `merchant_provider_unavailable`.
 */
export async function putBinding(
  ctx: Ctx,
  sql: AnySql,
  tenantId: string,
  userId: string,
  customerId: string,
): Promise<(inner: Tx) => Promise<{ before: Binding | null; after: Binding }>> {
  const connection = await getCurrentConnection(sql, tenantId);
  if (!(await hasCustomer(ctx, connection, customerId))) throw new ApiError("merchant_customer_not_found");
  return async (inner) => {
    const [before] = await inner<BindingRow[]>`
      select user_id, customer_id, created_at, updated_at from merchant_bindings
      where connection_id = ${connection.id} and user_id = ${userId} for no key update`;
    // The connection may have been replaced during the request; then the customer may be another account's.
    const [row] = await inner<BindingRow[]>`
      insert into merchant_bindings (connection_id, user_id, customer_id)
      select id, ${userId}, ${customerId} from merchant_connections where id = ${connection.id} and retired_at is null
      on conflict (connection_id, user_id) do update set customer_id = excluded.customer_id, updated_at = now()
      returning user_id, customer_id, created_at, updated_at`;
    if (row === undefined) throw new ApiError("merchant_connection_not_found");
    return { before: before === undefined ? null : showBinding(before), after: showBinding(row) };
  };
}

/** Deletes a binding; later usage of this user is `unmapped`. Throws 404 for the connection or the binding. */
export async function deleteBinding(sql: AnySql, tenantId: string, userId: string): Promise<void> {
  const { id } = await getCurrentConnection(sql, tenantId);
  const { count } = await sql`delete from merchant_bindings where connection_id = ${id} and user_id = ${userId}`;
  if (count === 0) throw new ApiError("merchant_binding_not_found");
}

async function hasCustomer(ctx: Ctx, connection: MerchantConnectionRow, customerId: string): Promise<boolean> {
  try {
    return await openMerchantAccount(ctx, connection, checkTimeoutMs).hasCustomer(customerId);
  } catch (error) {
    const refused = faultOf(error).kind === "unauthorized";
    throw new ApiError("merchant_provider_unavailable", {
      ...(refused && { message: "The billing provider refuses the connection's credential." }),
    });
  }
}

function showBinding(row: BindingRow): Binding {
  return {
    userId: row.userId,
    customerId: row.customerId,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
