import type { TurnsCancel } from "parley/client";
import type { Filters } from "../api/filters.ts";
import { spanOf } from "../parts/periods.ts";

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

export const filterNames = ["status", "error", "kind", "agentId", "userId", "sessionId", "since", "order"] as const;
export type TurnFilters = Filters<(typeof filterNames)[number]>;

/** The query of the list that these filters mean. What the address has and the API does not know is left out. */
export function queryOf({ status, error, kind, agentId, userId, sessionId, since, order }: TurnFilters, now: number) {
  const isLongest = order === "longest";
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
    ...rangeOf(since ?? (isLongest ? longestUsual : undefined), now, isLongest),
    ...(isLongest && { sort: "longest" as const }),
  };
}

/** The time of the longest turns where none is chosen. */
export const longestUsual = "day";
/** The list of the longest turns takes no longer time. */
const longestMsMax = 31 * 86_400_000;
const hourMs = 3_600_000;

/** From when to when a time of this name is. Of the longest turns of a month in which a clock was put back, the first hour is left out. */
function rangeOf(name: string | undefined, now: number, isLongest: boolean): { from?: string; to?: string } {
  const period = spanOf(name, new Date(now));
  if (period === null) return {};
  const to = period.to?.getTime();
  const excess = (to ?? now) - period.from.getTime() - longestMsMax;
  const cut = isLongest && excess > 0 && excess <= hourMs ? excess : 0;
  const from = new Date(period.from.getTime() + cut).toISOString();
  return { from, ...(to !== undefined && { to: new Date(to).toISOString() }) };
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
