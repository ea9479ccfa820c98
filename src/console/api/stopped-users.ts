import { useQuery } from "@tanstack/react-query";
import { readConsole } from "./fetch.ts";
import { queryClient } from "./queries.ts";

const queryKey = ["stopped-users"];
/** One reading for all rows of a list; how often it is read anew, in ms. */
const keptMs = 30_000;

/** Returns whether an end user is stopped, so that no turn of theirs may begin. */
export function useIsStopped(userId: string): boolean {
  const { data } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readConsole<{ data: readonly string[] }>("/console/api/stopped-users", { signal }),
    staleTime: keptMs,
    enabled: userId !== "",
  });
  return data?.data.includes(userId) ?? false;
}

/** Reads them again: a budget was made, changed or taken away. */
export function readStoppedAnew(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey });
}
