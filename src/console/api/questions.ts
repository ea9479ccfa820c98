import { useQuery } from "@tanstack/react-query";
import { readConsole } from "./fetch.ts";
import { queryClient } from "./queries.ts";

/** Rows that are asked about at once; the service takes as many. */
const askedMax = 100;

/**
 * What is known of rows beside what their list says: `load` is asked for those that are not known
 * yet, and what it says is kept under `key` and the id. Null stands for what has nothing.
 */
function useKnown<Value>(
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
    const { data } = await readConsole<{ data: { turnId: string; text: string }[] }>(path, { signal });
    return new Map(data.map(({ turnId, text }) => [turnId, text]));
  });
}

/** What became of a session's last turn, of `GET /console/api/session-marks`. */
export interface SessionMark {
  readonly sessionId: string;
  readonly status: string;
  readonly errorCode: string | null;
  readonly tokens: number;
  readonly isPartial: boolean;
}

/** The marks of sessions, each by its id and when it was used last: then it is read again. */
export function useSessionMarks(
  sessions: readonly { readonly id: string; readonly updatedAt: string }[],
): (session: { readonly id: string; readonly updatedAt: string }) => SessionMark | null | undefined {
  const nameOf = ({ id, updatedAt }: { readonly id: string; readonly updatedAt: string }) => `${id} ${updatedAt}`;
  const known = useKnown("session-mark", sessions.map(nameOf), async (names, signal) => {
    const byId = new Map(names.map((name) => [name.split(" ")[0] as string, name]));
    const path = `/console/api/session-marks?sessionIds=${[...byId.keys()].join()}`;
    const { data } = await readConsole<{ data: SessionMark[] }>(path, { signal });
    return new Map(data.map((mark) => [byId.get(mark.sessionId) as string, mark]));
  });
  return (session) => known(nameOf(session));
}
