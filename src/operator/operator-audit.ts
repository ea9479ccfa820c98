import { userInfo } from "node:os";
import { type AuditAction, recordAudit } from "../kernel/audit/record.ts";
import type { Tx } from "../kernel/database/client.ts";

/** Writes down what a command does, in its transaction. The operator is known by the account that the command runs under. */
export async function recordOperator(
  inner: Tx,
  action: AuditAction,
  resourceId: string,
  { tenantId = null, changes = [] }: { readonly tenantId?: string | null; readonly changes?: readonly string[] } = {},
): Promise<void> {
  const actor = { type: "operator", id: accountName() } as const;
  await recordAudit(inner, { tenantId, actor, action, resourceId, requestId: null, changes });
}

/** Returns the name of the account; null where the system has none for it, as in some containers. */
function accountName(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}
