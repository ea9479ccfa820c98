import type { ListedSession } from "../../console-shapes/sessions.ts";
import { type CursorList, type ListPage, useCursorList } from "./cursor-list.ts";
import { readConsole } from "./fetch.ts";

/** Which sessions are meant; what is left out is no filter. */
export interface SessionQuestion {
  readonly agentId?: string | undefined;
  readonly userId?: string | undefined;
  readonly status?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

interface SessionListOptions {
  readonly key: readonly unknown[];
  /** Asked for at each reading, because a time such as the last hour moves on. */
  ask(): SessionQuestion;
  readonly pageRows: number;
}

/** How often the first page is read anew, in ms. */
const refreshMs = 10_000;
/** A page by the last turn may hold none, where later turns followed: this many pages are read to find a row. */
const emptyPagesMax = 10;

/** Sessions, also those in which nothing was answered yet, the one used last first. */
export function useSessionList({ key, ask, pageRows }: SessionListOptions): CursorList<ListedSession> {
  return useCursorList<ListedSession>({
    key: ["sessions", ...key],
    load: async (cursor, signal) => {
      const question = ask();
      let page = await readPage(question, pageRows, cursor, signal);
      for (let pages = 1; page.rows.length === 0 && page.nextCursor && pages < emptyPagesMax; pages++)
        page = await readPage(question, pageRows, page.nextCursor, signal);
      return page;
    },
    refreshMs,
  });
}

async function readPage(
  question: SessionQuestion,
  limit: number,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<ListPage<ListedSession>> {
  const query = searchOf({ ...question, limit: String(limit), cursor });
  const { data, nextCursor } = await readConsole<{ data: ListedSession[]; nextCursor: string | null }>(
    `/console/api/session-list?${query}`,
    { signal },
  );
  return { rows: data, nextCursor };
}

/** A question as an address has it; what is undefined is left out. */
export function searchOf(question: { readonly [name: string]: string | undefined }): URLSearchParams {
  const given = Object.entries(question).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(given);
}
