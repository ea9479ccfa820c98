import { useQuery } from "@tanstack/react-query";
import type { Session, TurnSummary } from "parley/client";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { useQuestions } from "../api/questions.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { ButtonLink } from "../parts/button.tsx";
import { CopyLink } from "../parts/copyable-id.tsx";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, SelectFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { costText } from "../parts/money.ts";
import { type MonthChoice, monthChoices } from "../parts/months.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { TitleLine } from "../parts/title-line.tsx";
import { When } from "../parts/when.tsx";
import { NewClientToken } from "./client-token.tsx";
import { ForgetUser } from "./forget-user.tsx";
import { StopUser } from "./stop-user.tsx";
import { UserMemories } from "./user-memories.tsx";

/** Rows of each list before more are asked for. */
const pageRows = 10;

/** One end user: what they used in a month, their sessions and turns, and what agents remember of them. */
export function UserPage({ userId }: { readonly userId: string }) {
  const named = encodeURIComponent(userId);
  return (
    <PageFrame
      title={userId}
      parent={{ title: "Users", to: "/users" }}
      actionsNeed="reader"
      actions={
        <>
          <CopyLink />
          <NewClientToken userId={userId} />
          <ForgetUser userId={userId} />
          <StopUser userId={userId} />
        </>
      }
    >
      <MonthOfUser userId={userId} />
      <Section
        title="Sessions"
        actionsNeed="reader"
        actions={<ButtonLink to={`/sessions?userId=${named}`}>All</ButtonLink>}
      >
        <SessionsOfUser userId={userId} />
      </Section>
      <Section
        title="Turns"
        actionsNeed="reader"
        actions={
          <>
            <ButtonLink to={`/turns?userId=${named}&status=failed`}>Failed</ButtonLink>
            <ButtonLink to={`/turns?userId=${named}&order=longest&since=month`}>Longest</ButtonLink>
            <ButtonLink to={`/turns?userId=${named}`}>All</ButtonLink>
          </>
        }
      >
        <TurnsOfUser userId={userId} />
      </Section>
      <Section title="What agents remember">
        <UserMemories userId={userId} />
      </Section>
    </PageFrame>
  );
}

function MonthOfUser({ userId }: { readonly userId: string }) {
  const [filters, setFilters] = useFilters("month");
  const months = monthChoices(new Date());
  const month = months.find(({ name }) => name === filters.month) ?? (months[0] as MonthChoice);
  const query = { userId, from: month.from, to: month.to, groupBy: "model" as const };
  const usage = useQuery({
    queryKey: ["usage", "of-user", query],
    queryFn: ({ signal }) => parley.usage.get(query, { signal }),
  });
  return (
    <>
      <FilterBar>
        <SelectFilter
          label="Month"
          value={filters.month}
          any="This month"
          options={months.slice(1).map(({ name, label }) => [name, label] as const)}
          onChange={(chosen) => setFilters({ month: chosen })}
        />
      </FilterBar>
      <Await query={usage}>
        {({ totals, buckets }) => (
          <Facts
            facts={{
              Cost: <strong>{costText(totals)}</strong>,
              Turns: countText(totals.requestCount),
              Tokens: `${countText(totals.inputTokens)} in, ${countText(totals.outputTokens)} out`,
              "Time of turns": durationText(totals.durationMs),
              Models: buckets.length === 0 ? null : buckets.map(({ model }) => model ?? "–").join(", "),
            }}
          />
        )}
      </Await>
    </>
  );
}

function SessionsOfUser({ userId }: { readonly userId: string }) {
  const nameOf = useAgentName();
  const list = useCursorList<Session & { readonly agentId: string }>({
    key: ["sessions", "of-user", userId],
    load: async (cursor, signal) => {
      const query = { userId, limit: pageRows, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.sessions.listLatest(query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: 10_000,
  });
  const columns: readonly Column<(typeof list.rows)[number]>[] = [
    {
      name: "Session",
      cell: ({ id, agentId, firstMessagePreview, lastMessagePreview }) => (
        <TitleLine to={`/sessions/${agentId}/${id}`} id={id} title={firstMessagePreview || lastMessagePreview} />
      ),
    },
    { name: "Agent", cell: ({ agentId }) => <Link href={`/agents/${agentId}`}>{nameOf(agentId)}</Link> },
    { name: "Messages", cell: ({ messageCount }) => messageCount, numeric: true },
    { name: "Last used", cell: ({ updatedAt }) => <When at={updatedAt} /> },
  ];
  return (
    <ListView
      list={list}
      caption="Sessions of this user"
      columns={columns}
      rowKey={({ id }) => id}
      empty="There is none."
    />
  );
}

function TurnsOfUser({ userId }: { readonly userId: string }) {
  const nameOf = useAgentName();
  const list = useCursorList<TurnSummary>({
    key: ["turns", "of-user", userId],
    load: async (cursor, signal) => {
      const query = { userId, limit: pageRows, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.turns.list(query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: 10_000,
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
    { name: "Agent", cell: ({ agentId }) => <Link href={`/agents/${agentId}`}>{nameOf(agentId)}</Link> },
    { name: "Tokens", cell: (turn) => countText(turn.inputTokens + turn.outputTokens), numeric: true, wideOnly: true },
    { name: "Cost", cell: (turn) => costText(turn), numeric: true },
    { name: "Ran", cell: ({ runMs }) => durationText(runMs), numeric: true },
    { name: "Accepted", cell: ({ acceptedAt }) => <When at={acceptedAt} /> },
  ];
  return (
    <ListView
      list={list}
      caption="Turns of this user"
      columns={columns}
      rowKey={({ id }) => id}
      empty="There is none."
    />
  );
}
