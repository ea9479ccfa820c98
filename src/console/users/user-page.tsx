import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { ButtonLink } from "../parts/button.tsx";
import { CopyLink } from "../parts/copyable-id.tsx";
import { CostFact, unpricedOf } from "../parts/cost.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { type DaySpan, daysIn } from "../parts/periods.ts";
import { RangeFilter } from "../parts/range-filter.tsx";
import { Await } from "../parts/states.tsx";
import { useTimeFilters } from "../parts/time-filters.ts";
import { StoppedMark } from "../parts/user-link.tsx";
import { SessionsOf } from "../sessions/sessions-of.tsx";
import { TurnsOf } from "../turns/turns-of.tsx";
import { calendarOfUtc } from "../usage/usage-rows.ts";
import { UtcDays } from "../usage/utc-days.tsx";
import { NewClientToken } from "./client-token.tsx";
import { ForgetUser } from "./forget-user.tsx";
import { StopUser } from "./stop-user.tsx";
import { UserBudgets } from "./user-budgets.tsx";
import { UserMemories } from "./user-memories.tsx";

/** One end user: what they used, their sessions and turns, and what agents remember of them. */
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
      mark={<StoppedMark userId={userId} />}
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
      <UsedByUser userId={userId} />
      <UserBudgets userId={userId} />
      <Section
        title="Latest sessions"
        actionsNeed="reader"
        actions={<ButtonLink to={`/sessions?userId=${named}`}>All</ButtonLink>}
      >
        <SessionsOf of={{ userId }} caption="Sessions of this user" empty="There is none." columns={[agent]} />
      </Section>
      <Section
        title="Latest turns"
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

/** The time where none is chosen. */
const usual = "this-month";

function UsedByUser({ userId }: { readonly userId: string }) {
  const [filters, setFilters] = useTimeFilters();
  const today = calendarOfUtc(new Date());
  const since = daysIn(filters.since, today) === null ? usual : filters.since;
  const days = daysIn(since, today) as DaySpan;
  const query = { userId, ...days, groupBy: "model" as const };
  const usage = useQuery({
    queryKey: ["usage", "of-user", query],
    queryFn: ({ signal }) => parley.usage.get(query, { signal }),
  });
  return (
    <Section title="Used">
      <FilterBar>
        <RangeFilter
          value={filters.since}
          usual={usual}
          ofDays
          now={today}
          onChange={(chosen) => setFilters({ since: chosen })}
        />
      </FilterBar>
      <UtcDays days={days} />
      <Await query={usage}>
        {({ totals, buckets }) => (
          <Facts
            facts={{
              Cost: totals.requestCount === 0 ? null : <CostFact of={totals} models={unpricedOf(buckets)} />,
              Turns: (
                <Link href={`/turns?userId=${encodeURIComponent(userId)}&since=${since}`}>
                  {countText(totals.requestCount)}
                </Link>
              ),
              Tokens: `${countText(totals.inputTokens)} in, ${countText(totals.outputTokens)} out`,
              "Time in turns": durationText(totals.durationMs),
              Models: buckets.length === 0 ? null : [...new Set(buckets.map(({ model }) => model ?? "–"))].join(", "),
            }}
          />
        )}
      </Await>
    </Section>
  );
}
