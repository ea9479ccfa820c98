import type { RunnableFault } from "../../agents/runnable.ts";
import { budgetExceeded, readExceeded } from "../../budgets/exceeded.ts";
import type { Principal } from "../../kernel/auth/authenticator.ts";
import { noteProof, ProofNeededError } from "../../kernel/auth/proof.ts";
import type { AnySql, Sql } from "../../kernel/database/client.ts";
import { unavailable } from "../../kernel/database/failure.ts";
import { ApiError, invalid } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { noteFull, type QueueLimit, tooManyTurns } from "./queued-turns.ts";

/** Why the statement that accepts a turn did not write it. */
type RefusalWord = "busy" | "line" | "full" | "late" | "gone" | "twice" | "repeated" | RunnableFault;

/**
 * What the statement that accepts a turn says of it. `locked`: somebody holds its session, so it has to be tried alone; `key`: the
 * API key is good no more, or its tenant not as it was; `unopened`: its period has just begun, so it has to be tried again; `stale`: so has
 * one whose session grew while the statement waited for it; `budget:…`: that budget is used up.
 */
export type AcceptWord =
  | "accepted"
  | "locked"
  | "key"
  | "unopened"
  | "stale"
  | `budget:${IdOf<"budget">}`
  | RefusalWord;

const agentFault = (fault: RunnableFault) => new ApiError(fault);

/** The error of each word. */
const errors: Readonly<Record<RefusalWord, (limit: QueueLimit) => ApiError>> = {
  busy: () => new ApiError("session_busy"),
  line: () => new ApiError("session_busy"),
  full: ({ queuedTurnsMax }) => tooManyTurns(queuedTurnsMax),
  late: unavailable,
  gone: () => new ApiError("not_found"),
  twice: () => invalid("/message/id", "is the id of a message that the session has already"),
  repeated: () => new ApiError("idempotency_key_reused"),
  not_found: () => agentFault("not_found"),
  version_missing_for_run: () => agentFault("version_missing_for_run"),
  agent_disabled: () => agentFault("agent_disabled"),
  provider_missing_for_turn: () => agentFault("provider_missing_for_turn"),
  provider_required: () => agentFault("provider_required"),
  sandbox_required_for_turn: () => agentFault("sandbox_required_for_turn"),
};

/** Throws the error of a word; returns where the turn was accepted. Any word but `key` says that the principal's API key is good. */
export async function refuseBy(
  { pool, sql }: { readonly pool: Sql; readonly sql: AnySql },
  principal: Principal,
  limit: QueueLimit,
  word: AcceptWord,
): Promise<void> {
  if (word === "key") throw new ProofNeededError("The API key is not what it was.");
  noteProof(principal);
  if (word === "accepted") return;
  // In a transaction, which waits for the lock: so no caller is told this.
  if (word === "locked" || word === "unopened" || word === "stale") throw unavailable();
  if (isBudgetWord(word)) throw await refusalOfBudget(sql, word);
  if (word === "full") noteFull(pool, limit);
  throw errors[word](limit);
}

function isBudgetWord(word: AcceptWord): word is `budget:${IdOf<"budget">}` {
  return word.startsWith("budget:");
}

async function refusalOfBudget(sql: AnySql, word: `budget:${IdOf<"budget">}`): Promise<ApiError> {
  const budget = await readExceeded(sql, word.slice("budget:".length));
  // Deleted meanwhile: the next try is let in.
  return budget === null ? unavailable() : budgetExceeded(budget);
}
