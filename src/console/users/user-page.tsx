import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useFilters } from "../api/filters.ts";
import { ButtonLink } from "../parts/button.tsx";
import { CopyLink } from "../parts/copyable-id.tsx";
import { FilterBar, SelectFilter } from "../parts/filter-bar.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { costText } from "../parts/money.ts";
import { type MonthChoice, monthChoices } from "../parts/months.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { SessionsOf } from "../sessions/sessions-of.tsx";
import { TurnsOf } from "../turns/turns-of.tsx";
import { NewClientToken } from "./client-token.tsx";
import { ForgetUser } from "./forget-user.tsx";
import { StopUser } from "./stop-user.tsx";
import { UserMemories } from "./user-memories.tsx";

/** One end user: what they used in a month, their sessions and turns, and what agents remember of them. */
export function UserPage({ userId }: { readonly userId: string }) {
  const named = encodeURIComponent(userId);
  const nameOf = useAgentName();
  const agent = {
    name: "Agent",
    cell: ({ agentId }: { readonly agentId: string }) => <Link href={`/agents/${agentId}`}>{nameOf(agentId)}</Link>,
  };
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
        <SessionsOf
          of={{ userId }}
          load={(page, signal) => parley.sessions.listLatest({ userId, ...page }, { signal })}
          caption="Sessions of this user"
          empty="There is none."
          columns={[agent]}
        />
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
        <TurnsOf of={{ userId }} caption="Turns of this user" empty="There is none." columns={[agent]} />
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
