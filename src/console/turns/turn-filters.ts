import type { TurnsCancel } from "parley/client";
import type { Filters } from "../api/filters.ts";

export const statusChoices = ["queued", "running", "waiting", "succeeded", "failed", "canceled"] as const;

/** The statuses of a turn that has not ended: these can be canceled. */
export const openStatuses = ["running", "waiting", "queued"] as const;
export const kindChoices = ["session", "generate", "task", "chat"] as const;

/** How far back the list goes: its name in the address, in words, and in milliseconds. */
export const periods = [
  { name: "hour", label: "Last hour", ms: 3_600_000 },
  { name: "day", label: "Last day", ms: 86_400_000 },
  { name: "week", label: "Last week", ms: 604_800_000 },
] as const;

export const filterNames = ["status", "kind", "agentId", "userId", "sessionId", "since", "order"] as const;
export type TurnFilters = Filters<(typeof filterNames)[number]>;

/** The query of the list that these filters mean. What the address has and the API does not know is left out. */
export function queryOf({ status, kind, agentId, userId, sessionId, since }: TurnFilters, now: number) {
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
    ...(period !== undefined && { from: new Date(now - period.ms).toISOString() }),
  };
}

/**
 * Returns what to cancel all of by these filters; null where cancelling knows none of them, or
 * the list is narrower than what would be canceled: by kind, by time, or by turns that have ended.
 */
export function cancelOf({ status, kind, since, agentId, userId, sessionId }: TurnFilters): TurnsCancel | null {
  const open = openStatuses.find((one) => one === status);
  if (kind !== undefined || since !== undefined || (status !== undefined && open === undefined)) return null;
  const body = {
    ...(open !== undefined && { status: open }),
    ...(agentId !== undefined && { agentId }),
    ...(userId !== undefined && { userId }),
    ...(sessionId !== undefined && { sessionId }),
  };
  return Object.keys(body).length === 0 ? null : body;
}

/** The milliseconds from a turn's acceptance to its end, or until now. */
export function lengthOf(
  { acceptedAt, finishedAt }: { readonly acceptedAt: string; readonly finishedAt: string | null },
  now: number,
): number {
  return Math.max(0, (finishedAt === null ? now : Date.parse(finishedAt)) - Date.parse(acceptedAt));
}
