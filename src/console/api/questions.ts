import { useQuery } from "@tanstack/react-query";
import type { Question, SaidBefore } from "../../console-shapes/marks.ts";
import { readConsole } from "./fetch.ts";
import { queryClient } from "./queries.ts";

/** Rows that are asked about at once; the service takes as many. */
const askedMax = 100;

/**
 * What is known of rows beside what their list says: `load` is asked for those that are not known
 * yet, and what it says is kept under `key` and the id. Null stands for what has nothing.
 */
export function useKnown<Value>(
  key: string,
  ids: readonly string[],
  load: (ids: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, Value>>,
): (id: string) => Value | null | undefined {
  const known = (id: string) => queryClient.getQueryData<Value | null>([key, id]);
  const missing = ids.filter((id) => known(id) === undefined).slice(0, askedMax);
  useQuery({
    queryKey: [`${key} of`, missing.join()],
    queryFn: async ({ signal }) => {
      const found = await load(missing, signal);
      for (const id of missing) queryClient.setQueryData([key, id], found.get(id) ?? null);
      return found.size;
    },
    enabled: missing.length > 0,
  });
  return known;
}

/** The beginnings of what turns were asked; they never change. */
export function useQuestions(turnIds: readonly string[]): (turnId: string) => string | null | undefined {
  return useKnown("question", turnIds, async (ids, signal) => {
    const path = `/console/api/questions?turnIds=${ids.join()}`;
    const { data } = await readConsole<{ data: Question[] }>(path, { signal });
    return new Map(data.map(({ turnId, text }) => [turnId, text]));
  });
}

/** What turns said last before they asked for a call, by the turn's id and the call's with a space between them: later they may say more. */
export function useSaidBefore(calls: readonly string[]): (call: string) => string | null | undefined {
  return useKnown("said-before", calls, async (asked, signal) => {
    const turnIds = new Set(asked.map(turnOf));
    const path = `/console/api/said-before?turnIds=${[...turnIds].join()}`;
    const { data } = await readConsole<{ data: SaidBefore[] }>(path, { signal });
    const texts = new Map(data.map(({ turnId, text }) => [turnId, text]));
    return new Map(asked.flatMap((call) => (texts.has(turnOf(call)) ? [[call, texts.get(turnOf(call)) ?? ""]] : [])));
  });
}

function turnOf(call: string): string {
  return call.split(" ", 1)[0] ?? "";
}
