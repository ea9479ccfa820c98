import { useQuery } from "@tanstack/react-query";
import type { UsageBucket } from "parley/client";
import { useState } from "react";
import { useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { Button } from "../parts/button.tsx";
import { CopyLink } from "../parts/copyable-id.tsx";
import { CostNote } from "../parts/cost.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { countText } from "../parts/moment.ts";
import { costText } from "../parts/money.ts";
import { PageFrame } from "../parts/page.tsx";
import { type DaySpan, daysIn } from "../parts/periods.ts";
import { RangeFilter } from "../parts/range-filter.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { useTimeFilters } from "../parts/time-filters.ts";
import { UserLink } from "../parts/user-link.tsx";
import { userPath } from "../parts/user-path.ts";
import { calendarOfUtc } from "../usage/usage-rows.ts";
import { UtcDays } from "../usage/utc-days.tsx";

/** The time where none is chosen. */
const usual = "this-month";
/** Users that are shown: those that used most. */
const shownMax = 200;

const columns: readonly Column<UsageBucket>[] = [
  { name: "User", cell: ({ userId }) => <UserLink userId={userId ?? ""} /> },
  { name: "Turns", cell: ({ requestCount }) => countText(requestCount), numeric: true },
  { name: "Tokens in", cell: ({ inputTokens }) => countText(inputTokens), numeric: true, wideOnly: true },
  { name: "Tokens out", cell: ({ outputTokens }) => countText(outputTokens), numeric: true, wideOnly: true },
  { name: "Cost", cell: (bucket) => costText(bucket), numeric: true },
];

/** The end users of a time, the one with the most tokens first. */
export function UserList() {
  const [filters, setFilters] = useTimeFilters("agentId");
  const today = calendarOfUtc(new Date());
  const days = daysIn(filters.since, today) ?? (daysIn(usual, today) as DaySpan);
  const query = {
    ...{ ...days, groupBy: "user" as const, limit: shownMax },
    ...(filters.agentId !== undefined && { agentId: filters.agentId }),
  };
  const usage = useQuery({
    queryKey: ["usage", "user", query],
    queryFn: ({ signal }) => parley.usage.get(query, { signal }),
  });
  return (
    <PageFrame title="Users" actionsNeed="reader" actions={<CopyLink />}>
      <FilterBar keeps>
        <OpenUser />
        <RangeFilter
          value={filters.since}
          usual={usual}
          ofDays
          now={today}
          onChange={(since) => setFilters({ since })}
        />
        <AgentPicker value={filters.agentId} onChange={(chosen) => setFilters({ agentId: chosen })} optional />
      </FilterBar>
      <UtcDays days={days} />
      <Await query={usage}>
        {({ buckets }) => {
          const rows = buckets.filter(({ userId }) => userId).toSorted((one, other) => tokensOf(other) - tokensOf(one));
          return rows.length === 0 ? (
            <Empty>
              No turn of a user in this time. A turn belongs to the one that its request names as <code>userId</code>.
            </Empty>
          ) : (
            <>
              <CostNote of={rows} />
              <DataTable
                caption="Users, the most tokens first"
                columns={columns}
                rows={rows}
                rowKey={(row) => row.userId ?? ""}
              />
            </>
          );
        }}
      </Await>
    </PageFrame>
  );
}

function tokensOf({ inputTokens, outputTokens }: UsageBucket): number {
  return inputTokens + outputTokens;
}

/** Opens the page of a user whose id is known. */
function OpenUser() {
  const [, navigate] = useLocation();
  const [id, setId] = useState("");
  const open = () => id.trim() !== "" && navigate(userPath(id.trim()));
  return (
    <>
      <div className="field">
        <label htmlFor="open-user">Open user</label>
        <input
          id="open-user"
          type="search"
          placeholder="Id"
          value={id}
          onChange={(event) => setId(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && open()}
        />
      </div>
      <Button disabled={id.trim() === ""} onClick={open}>
        Open
      </Button>
    </>
  );
}
