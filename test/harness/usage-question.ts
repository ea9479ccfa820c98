import type { UsageQuestion } from "../../src/usage/query.ts";

/** What is asked about a range of days; without further fields, everything by day. */
export function usageQuestion(from: string, to: string, fields: Partial<UsageQuestion> = {}): UsageQuestion {
  const everything = { agentId: undefined, sessionId: undefined, userId: undefined };
  return { from, to, ...everything, groupBy: "day", limit: 50, ...fields };
}
