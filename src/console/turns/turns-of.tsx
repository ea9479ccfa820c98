import type { TurnSummary } from "parley/client";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useQuestions } from "../api/questions.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { CostNote } from "../parts/cost.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ListView } from "../parts/list-view.tsx";
import { durationText } from "../parts/moment.ts";
import { costSoFar, tokensSoFar } from "../parts/money.ts";
import { TitleLine } from "../parts/title-line.tsx";
import { When } from "../parts/when.tsx";
import { ranOf } from "./turn-times.ts";

/** Rows before more are asked for. */
const pageRows = 10;
const refreshMs = 10_000;

interface TurnsOfProps {
  /** Whose turns. */
  readonly of: { readonly agentId: string } | { readonly userId: string };
  readonly caption: string;
  readonly empty: string;
  /** What tells these turns apart, behind their status. */
  readonly columns: readonly Column<TurnSummary>[];
}

/** The latest turns of an agent or of an end user, on its page. */
export function TurnsOf({ of, caption, empty, columns }: TurnsOfProps) {
  const list = useCursorList<TurnSummary>({
    key: ["turns", "of", of],
    load: async (cursor, signal) => {
      const query = { ...of, limit: pageRows, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.turns.list(query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs,
  });
  const questionOf = useQuestions(list.rows.map(({ id }) => id));
  const all: readonly Column<TurnSummary>[] = [
    {
      name: "Turn",
      cell: ({ id, error, status }) => (
        <TitleLine
          to={`/turns/${id}`}
          id={id}
          title={questionOf(id)}
          about={error?.message}
          isBad={status === "failed"}
        />
      ),
    },
    { name: "Status", cell: ({ status, error }) => <StatusBadge status={status} text={error?.code ?? status} /> },
    ...columns,
    { name: "Tokens", cell: tokensSoFar, numeric: true, wideOnly: true },
    { name: "Cost", cell: costSoFar, numeric: true },
    {
      name: "Ran",
      cell: (turn) => (turn.startedAt === null ? "–" : durationText(ranOf(turn, Date.now()))),
      numeric: true,
    },
    { name: "Accepted", cell: ({ acceptedAt }) => <When at={acceptedAt} /> },
  ];
  return (
    <>
      <ListView list={list} caption={caption} columns={all} rowKey={({ id }) => id} empty={empty} />
      <CostNote of={list.rows} />
    </>
  );
}
