import { readFileSync } from "node:fs";
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

/**
 * Returns the name of the account; where the system has none for it, as in some containers,
 * its number as `uid 1000`. The system's list comes first: Bun's `userInfo` reads `USER`,
 * which anybody sets, and says `unknown` without it. Null where accounts have no numbers either.
 */
function accountName(): string | null {
  const uid = process.getuid?.();
  const listed = uid === undefined ? null : listedName(uid);
  if (listed !== null) return listed;
  try {
    const { username } = userInfo();
    if (username !== "" && username !== "unknown") return username;
  } catch {
    // Deno throws where the account has no name.
  }
  return uid === undefined ? null : `uid ${uid}`;
}

/** Returns the account's name in the system's list; null when it is in none, as those of a directory service. */
function listedName(uid: number): string | null {
  try {
    const accounts = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((line) => line.split(":"));
    return accounts.find(([, , number]) => number === String(uid))?.[0] || null;
  } catch {
    return null;
  }
}
