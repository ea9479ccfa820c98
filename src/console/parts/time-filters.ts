import { type Filters, useFilters } from "../api/filters.ts";
import { periodText } from "./periods.ts";

/**
 * `useFilters` of a screen with a time, `since`. Where the address has a time that there is not, it is as if it had
 * none: what is asked is then what the control shows.
 */
export function useTimeFilters<Name extends string>(
  ...names: readonly Name[]
): ReturnType<typeof useFilters<Name | "since">> {
  const [filters, change] = useFilters<Name | "since">("since", ...names);
  const { since, ...others } = filters as Filters<"since">;
  return [periodText(since) === null ? (others as Filters<Name | "since">) : filters, change];
}
