import { useQuery } from "@tanstack/react-query";
import type { Budget, BudgetSpending } from "parley/client";
import { parley } from "../api/client.ts";
import { Badge, StatusBadge } from "../parts/badge.tsx";
import { unitOf, usedShare } from "./budget-words.ts";

/** How often it is read anew, in ms. */
const refreshMs = 30_000;

/** What the one who used the most of a budget used in the period that is now; `undefined` while it is read, null where nothing was used. */
export function useMostUsed(budget: Budget): BudgetSpending | null | undefined {
  const { data } = useQuery({
    queryKey: ["budget-most", budget.id, budget.updatedAt],
    queryFn: ({ signal }) => parley.budgets.getSpending(budget.id, { limit: 1 }, { signal }),
    refetchInterval: refreshMs,
  });
  return data && (data.data[0] ?? null);
}

/** Whether a budget stops turns now, would stop them, or only counts. */
export function BudgetStatus({ budget }: { readonly budget: Budget }) {
  const most = useMostUsed(budget);
  if (!budget.enabled) return <StatusBadge status="disabled" />;
  if (most === undefined || usedShare(most?.used ?? 0, budget.limit[unitOf(budget)] ?? 0) < 1)
    return <StatusBadge status="enabled" />;
  return <Badge tone="bad">{budget.each === "tenant" ? "used up" : "used up by some"}</Badge>;
}
