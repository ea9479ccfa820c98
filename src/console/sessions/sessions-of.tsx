import type { Session } from "parley/client";
import { useCursorList } from "../api/cursor-list.ts";
import type { Column } from "../parts/data-table.tsx";
import { ListView } from "../parts/list-view.tsx";
import { TitleLine } from "../parts/title-line.tsx";
import { When } from "../parts/when.tsx";

/** Rows before more are asked for. */
const pageRows = 10;
const refreshMs = 10_000;

/** A session, and whose it is. */
export type SessionOfAgent = Session & { readonly agentId: string };

interface SessionsOfProps {
  /** Whose sessions. */
  readonly of: { readonly agentId: string } | { readonly userId: string };
  /** Reads a page of them. */
  readonly load: (
    page: { readonly limit: number; readonly cursor?: string },
    signal: AbortSignal,
  ) => Promise<{ readonly data: readonly SessionOfAgent[]; readonly nextCursor: string | null }>;
  readonly caption: string;
  readonly empty: string;
  /** What tells these sessions apart, behind their title. */
  readonly columns: readonly Column<SessionOfAgent>[];
}

/** The sessions of an agent or of an end user that were used last, on its page. */
export function SessionsOf({ of, load, caption, empty, columns }: SessionsOfProps) {
  const list = useCursorList<SessionOfAgent>({
    key: ["sessions", "of", of],
    load: async (cursor, signal) => {
      const { data, nextCursor } = await load({ limit: pageRows, ...(cursor && { cursor }) }, signal);
      return { rows: data, nextCursor };
    },
    refreshMs,
  });
  const all: readonly Column<SessionOfAgent>[] = [
    {
      name: "Session",
      cell: ({ id, agentId, firstMessagePreview, lastMessagePreview }) => (
        <TitleLine to={`/sessions/${agentId}/${id}`} id={id} title={firstMessagePreview || lastMessagePreview} />
      ),
    },
    ...columns,
    { name: "Messages", cell: ({ messageCount }) => messageCount, numeric: true },
    { name: "Last used", cell: ({ updatedAt }) => <When at={updatedAt} /> },
  ];
  return <ListView list={list} caption={caption} columns={all} rowKey={({ id }) => id} empty={empty} />;
}
