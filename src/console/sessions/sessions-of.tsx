import type { ListedSession } from "../../console-shapes/sessions.ts";
import { useSessionList } from "../api/session-list.ts";
import type { Column } from "../parts/data-table.tsx";
import { ListView } from "../parts/list-view.tsx";
import { sessionColumns } from "./session-columns.tsx";

/** Rows before more are asked for. */
const pageRows = 10;

interface SessionsOfProps {
  /** Whose sessions. */
  readonly of: { readonly agentId: string } | { readonly userId: string };
  readonly caption: string;
  readonly empty: string;
  /** What tells these sessions apart, behind what became of them. */
  readonly columns: readonly Column<ListedSession>[];
}

/** The sessions of an agent or of an end user that were used last, on its page. */
export function SessionsOf({ of, caption, empty, columns }: SessionsOfProps) {
  const list = useSessionList({ key: ["of", of], ask: () => of, pageRows });
  return (
    <ListView list={list} caption={caption} columns={sessionColumns(columns)} rowKey={({ id }) => id} empty={empty} />
  );
}
