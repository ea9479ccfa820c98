import { Type } from "@sinclair/typebox";
import { commonPage } from "../kernel/http/page.ts";
import { Closed, Digits, OneOf, UserId } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";
import type { ShownCost, TokenCounts } from "./tokens.ts";

/** What usage can be grouped by. */
export const usageGroups = ["day", "agent", "model", "session", "user"] as const;
export type UsageGroup = (typeof usageGroups)[number];

/** A range counts at most this many days, both ends included. */
export const usageRangeDaysMax = 31;
/** Without a range, this many days that end today. */
export const usageRangeDaysDefault = 30;
/**
 * A response grouped by anything but sessions (whose `limit` the caller sets) has at
 * most this many buckets, the largest. Only `user` can come near it.
 */
export const usageBucketsMax = 50_000;

const Day = Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}$", description: "YYYY-MM-DD" });

const filters = {
  from: Type.Optional(Day),
  to: Type.Optional(Day),
  sessionId: Type.Optional(
    Type.String({ pattern: "^(ss_[0-9a-z]{24})?$", description: "ss_…, or be empty for stateless turns" }),
  ),
  userId: Type.Optional(UserId),
  groupBy: Type.Optional(OneOf(...usageGroups)),
  limit: Type.Optional(
    Digits({ minimum: 1, maximum: commonPage.max, default: commonPage.default }, Number.POSITIVE_INFINITY),
  ),
};

export const UsageQuery = Closed({ ...filters, agentId: Type.Optional(Id("agent")) });

/** The path names the agent, so the query's `agentId` is ignored, valid or not. */
export const AgentUsageQuery = Closed({ ...filters, agentId: Type.Optional(Type.String()) });

/** Sums over turns. */
export interface UsageTotals extends TokenCounts, ShownCost {
  /** Turns, not model calls. */
  readonly requestCount: number;
  readonly durationMs: number;
}

/** The sums of one group. Only what it is grouped by is set; for `model` that is the provider's id and the model. */
export interface UsageBucket extends UsageTotals {
  /** YYYY-MM-DD, UTC. */
  readonly day: string | null;
  readonly agentId: string | null;
  readonly sessionId: string | null;
  readonly userId: string | null;
  readonly provider: string | null;
  readonly model: string | null;
}
