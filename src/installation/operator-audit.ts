import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import type { ChangedValue } from "../kernel/audit/changed-values.ts";
import { type AuditAction, recordAudit } from "../kernel/audit/record.ts";
import type { AuditActor } from "../kernel/auth/actor.ts";
import type { Tx } from "../kernel/database/client.ts";

/** Who acts for the operator. */
export interface Operator {
  /** The account of a command, or `console`; null when it is not known. */
  readonly id: string | null;
  /** The request that asked for it; null when a command did. */
  readonly requestId: string | null;
}

/** What an event says beside what was done. */
interface OperatorNote {
  readonly tenantId?: string | null;
  readonly changes?: readonly string[];
  readonly values?: readonly ChangedValue[];
  readonly operator?: Operator;
}

/** Returns the operator of a command, who is known by the account that it runs under. */
export function commandOperator(): Operator {
  return { id: accountName(), requestId: null };
}

/** Who is signed in to the console with OPERATOR_TOKEN, which is one for all operators, as the audit names them. */
export const consoleOperator = { type: "operator", id: "console" } as const satisfies AuditActor;

/** Writes down what an operator does, in its transaction; a command where no other operator is named. */
export async function recordOperator(
  inner: Tx,
  action: AuditAction,
  resourceId: string,
  { tenantId = null, changes = [], values = [], operator = commandOperator() }: OperatorNote = {},
): Promise<void> {
  const actor = { type: "operator", id: operator.id } as const;
  await recordAudit(inner, { tenantId, actor, action, resourceId, requestId: operator.requestId, changes, values });
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
