import type { Session, TurnSummary } from "parley/client";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useQuestions } from "../api/questions.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { ButtonLink } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ListView } from "../parts/list-view.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { costText } from "../parts/money.ts";
import { Section } from "../parts/page.tsx";
import { TitleLine } from "../parts/title-line.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { When } from "../parts/when.tsx";

/** Rows of each list before more are asked for. */
const pageRows = 15;

/** The latest turns and sessions of an agent. */
export function AgentActivity({ agentId }: { readonly agentId: string }) {
  return (
    <>
      <Section
        title="Turns"
        actionsNeed="reader"
        actions={
          <>
            <ButtonLink to={`/turns?agentId=${agentId}&status=failed`}>Failed</ButtonLink>
            <ButtonLink to={`/turns?agentId=${agentId}&order=longest`}>Longest</ButtonLink>
            <ButtonLink to={`/turns?agentId=${agentId}`}>All</ButtonLink>
          </>
        }
      >
        <TurnsOfAgent agentId={agentId} />
      </Section>
      <Section
        title="Sessions"
        actionsNeed="reader"
        actions={<ButtonLink to={`/sessions?agentId=${agentId}`}>All</ButtonLink>}
      >
        <SessionsOfAgent agentId={agentId} />
      </Section>
    </>
  );
}

function TurnsOfAgent({ agentId }: { readonly agentId: string }) {
  const list = useCursorList<TurnSummary>({
    key: ["turns", "of-agent", agentId],
    load: async (cursor, signal) => {
      const query = { agentId, limit: pageRows, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.turns.list(query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: 5_000,
  });
  const questionOf = useQuestions(list.rows.map(({ id }) => id));
  const columns: readonly Column<TurnSummary>[] = [
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
    { name: "User", cell: ({ userId }) => <UserLink userId={userId} /> },
    { name: "Version", cell: ({ agentVersion }) => agentVersion, numeric: true, wideOnly: true },
    { name: "Tokens", cell: (turn) => countText(turn.inputTokens + turn.outputTokens), numeric: true, wideOnly: true },
    { name: "Cost", cell: (turn) => costText(turn), numeric: true, wideOnly: true },
    { name: "Ran", cell: ({ runMs }) => durationText(runMs), numeric: true },
    { name: "Accepted", cell: ({ acceptedAt }) => <When at={acceptedAt} /> },
  ];
  return (
    <ListView
      list={list}
      caption="Turns of this agent"
      columns={columns}
      rowKey={({ id }) => id}
      empty="It has run no turn yet."
    />
  );
}

function SessionsOfAgent({ agentId }: { readonly agentId: string }) {
  const list = useCursorList<Session>({
    key: ["sessions", "of-agent", agentId],
    load: async (cursor, signal) => {
      const query = { limit: pageRows, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.sessions.list(agentId, query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: 10_000,
  });
  const columns: readonly Column<Session>[] = [
    {
      name: "Session",
      cell: ({ id, firstMessagePreview, lastMessagePreview }) => (
        <TitleLine to={`/sessions/${agentId}/${id}`} id={id} title={firstMessagePreview || lastMessagePreview} />
      ),
    },
    { name: "User", cell: ({ userId }) => <UserLink userId={userId} /> },
    { name: "Messages", cell: ({ messageCount }) => messageCount, numeric: true },
    { name: "Last used", cell: ({ updatedAt }) => <When at={updatedAt} /> },
  ];
  return (
    <ListView
      list={list}
      caption="Sessions of this agent"
      columns={columns}
      rowKey={({ id }) => id}
      empty="It has no session yet."
    />
  );
}
