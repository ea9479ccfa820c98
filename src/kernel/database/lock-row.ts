import type { Tx } from "./client.ts";

/** Tables of tenants' resources whose rows are read before they are changed. */
type ReadBeforeChange = "prompts" | "providers" | "memories" | "workspaces" | "mcp_connections";

/**
 * Keeps a tenant's row from being changed by others until the transaction ends: what is read of it next is what the change
 * is made to. Does nothing where there is none.
 */
export async function lockRow(inner: Tx, table: ReadBeforeChange, tenantId: string, id: string): Promise<void> {
  await inner`select /* row.lock */ 1 from ${inner(table)} where id = ${id} and tenant_id = ${tenantId} for no key update`;
}
