import type { TurnsCancel } from "parley/client";
import type { Filters } from "../api/filters.ts";

export const statusChoices = ["queued", "running", "waiting", "succeeded", "failed", "canceled"] as const;

/** The statuses of a turn that has not ended: these can be canceled. */
export const openStatuses = ["running", "waiting", "queued"] as const;
export const kindChoices = ["session", "generate", "task", "chat"] as const;

/** The errors that turns end with most often; the address may name another one. */
export const errorChoices = [
  "provider_error",
  "budget_exceeded",
  "turn_limit_reached",
  "usage_credit_required",
  "service_unavailable",
  "internal",
] as const;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** How far back the list goes: its name in the address, in words, and in milliseconds. */
export const periods = [
  { name: "hour", label: "Last hour", ms: hourMs },
  { name: "day", label: "Last 24 hours", ms: dayMs },
  { name: "yesterday", label: "Yesterday", ms: dayMs },
  { name: "week", label: "Last 7 days", ms: 7 * dayMs },
  { name: "month", label: "Last 31 days", ms: 31 * dayMs },
] as const;

export const filterNames = ["status", "error", "kind", "agentId", "userId", "sessionId", "since", "order"] as const;
export type TurnFilters = Filters<(typeof filterNames)[number]>;

/** The query of the list that these filters mean. What the address has and the API does not know is left out. */
export function queryOf({ status, error, kind, agentId, userId, sessionId, since, order }: TurnFilters, now: number) {
  const period = periods.find(({ name }) => name === since);
  const known = <Word extends string>(words: readonly Word[], word: string | undefined) =>
    words.find((one) => one === word);
  const knownStatus = known(statusChoices, status);
  const knownKind = known(kindChoices, kind);
  return {
    ...(knownStatus !== undefined && { status: knownStatus }),
    ...(knownKind !== undefined && { kind: knownKind }),
    ...(agentId !== undefined && { agentId }),
    ...(userId !== undefined && { userId }),
    ...(sessionId !== undefined && { sessionId }),
    ...(error !== undefined && { error }),
    ...(period !== undefined && rangeOf(period, now)),
    ...(order === "longest" && { sort: "longest" as const }),
  };
}

/** From when to when a period is; yesterday is the reader's own. */
function rangeOf({ name, ms }: (typeof periods)[number], now: number): { from: string; to?: string } {
  if (name !== "yesterday") return { from: new Date(now - ms).toISOString() };
  const today = new Date(now).setHours(0, 0, 0, 0);
  const from = new Date(today - dayMs / 2).setHours(0, 0, 0, 0);
  return { from: new Date(from).toISOString(), to: new Date(today).toISOString() };
}

/**
 * Returns what to cancel all of by these filters; null where cancelling knows none of them, or
 * the list is narrower than what would be canceled: by kind, by time, or by turns that have ended.
 */
export function cancelOf(filters: TurnFilters): TurnsCancel | null {
  const { status, error, kind, since, agentId, userId, sessionId } = filters;
  const open = openStatuses.find((one) => one === status);
  if (kind !== undefined || error !== undefined || since !== undefined || (status !== undefined && open === undefined))
    return null;
  const body = {
    ...(open !== undefined && { status: open }),
    ...(agentId !== undefined && { agentId }),
    ...(userId !== undefined && { userId }),
    ...(sessionId !== undefined && { sessionId }),
  };
  return Object.keys(body).length === 0 ? null : body;
}

/** The milliseconds that a turn has run without waiting for people: of one that has not ended, until now. */
export function ranOf(
  turn: {
    readonly acceptedAt: string;
    readonly startedAt: string | null;
    readonly finishedAt: string | null;
    readonly runMs: number;
    readonly waitedMs: number;
  },
  now: number,
): number {
  if (turn.finishedAt !== null) return turn.runMs;
  return turn.startedAt === null ? 0 : Math.max(turn.runMs, now - Date.parse(turn.startedAt) - turn.waitedMs, 0);
}
