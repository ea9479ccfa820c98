import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useMay } from "../api/role.ts";
import { type CostFields, costText } from "./money.ts";

/** How long it is believed which models have no price, in ms: a new price shows in what is used after it. */
const keptMs = 60_000;

/** The models that had no price when they were asked in the last 31 days. */
export function useUnpricedModels(enabled = true): readonly string[] {
  const usage = useQuery({
    queryKey: ["usage", "without-price"],
    queryFn: ({ signal }) => parley.usage.get({ groupBy: "model" }, { signal }),
    staleTime: keptMs,
    enabled,
  });
  return unpricedOf(usage.data?.buckets ?? []);
}

/** The models of a report by model that had no price, or not always. */
export function unpricedOf(
  buckets: readonly { readonly model: string | null; readonly costIsComplete: boolean }[],
): readonly string[] {
  return [
    ...new Set(buckets.flatMap(({ model, costIsComplete }) => (costIsComplete || model === null ? [] : [model]))),
  ];
}

interface CostNoteProps {
  /** What is shown. */
  readonly of: readonly CostFields[];
  /** The models that it may be, where that is known; else those of the last 31 days. */
  readonly models?: readonly string[];
}

/** Says why a cost is “–” or “≥” and where a price is set; nothing where every cost is known. */
export function CostNote({ of, models }: CostNoteProps) {
  const unknown = of.filter(({ costIsComplete }) => !costIsComplete);
  const lately = useUnpricedModels(unknown.length > 0 && models === undefined);
  if (unknown.length === 0) return null;
  const signs = [
    unknown.some(({ costUsd }) => costUsd === null) && "“–” is a cost that is not known",
    unknown.some(({ costUsd }) => costUsd !== null) && "“≥” is a cost that is known in part",
  ].filter(Boolean);
  return (
    <p className="hint">
      {signs.join(", ")}: <WithoutPrice models={models ?? lately} />
    </p>
  );
}

/** Names the models that had no price, with the way to the prices. */
export function WithoutPrice({ models }: { readonly models: readonly string[] }): ReactNode {
  const mayPrice = useMay("admin");
  return (
    <>
      there was no price for {models.length === 0 ? "a model" : models.join(", ")} when it was used.{" "}
      {mayPrice ? <Link href="/budgets/prices">Set prices</Link> : "An admin can set prices."}
    </>
  );
}

/** A cost among the facts of a page, with the reason where it is not known. */
export function CostFact({ of, models }: { readonly of: CostFields; readonly models: readonly string[] }) {
  return (
    <>
      {costText(of)}
      {!of.costIsComplete && (
        <span className="block hint">
          {of.costUsd === null ? "Not known: " : "At least this: "}
          <WithoutPrice models={models} />
        </span>
      )}
    </>
  );
}
