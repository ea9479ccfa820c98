import type { MerchantEvent } from "parley/client";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { FilterBar, SelectFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { countText } from "../parts/moment.ts";
import { toast, toastError } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { eventMoves, eventStatusChoices, eventText } from "./billing-words.ts";

/** How often the first page is read anew, in ms. */
const refreshMs = 5000;

const columns: readonly Column<MerchantEvent>[] = [
  {
    name: "Event",
    cell: (event) => (
      <>
        <code>{event.id}</code>
        <span className="hint block">{eventText(event)}</span>
      </>
    ),
  },
  { name: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
  { name: "User", cell: ({ userId }) => userId || <span className="faint">nobody</span> },
  { name: "Customer", cell: ({ customerId }) => customerId ?? <span className="faint">–</span>, wideOnly: true },
  { name: "Tokens", cell: ({ totalTokens }) => countText(totalTokens), numeric: true },
  { name: "Turn", cell: ({ turnId }) => <Link href={`/turns/${turnId}`}>Open</Link>, wideOnly: true },
  { name: "Occurred", cell: ({ occurredAt }) => <When at={occurredAt} /> },
  { name: "", cell: (event) => <EventActions event={event} /> },
];

/** What turns of end users used, as it is reported to the provider, the newest first. */
export function EventList() {
  const [filters, setFilters] = useFilters("status");
  const status = eventStatusChoices.find((one) => one === filters.status);
  const list = useCursorList<MerchantEvent>({
    key: ["merchant-events", "list", status],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...(status && { status }), ...(cursor && { cursor }) };
      const { events, nextCursor } = await parley.merchantEvents.list(query, { signal });
      return { rows: events, nextCursor };
    },
    refreshMs,
  });
  return (
    <>
      <FilterBar>
        <SelectFilter
          label="Status"
          value={status}
          options={eventStatusChoices}
          onChange={(chosen) => setFilters({ status: chosen })}
        />
      </FilterBar>
      <ListView
        list={list}
        caption="Usage events, the newest first"
        columns={columns}
        rowKey={({ id }) => id}
        empty={status === undefined ? "No turn of an end user was reported yet." : "No usage event has this status."}
      />
    </>
  );
}

function EventActions({ event }: { readonly event: MerchantEvent }) {
  const moves = eventMoves(event);
  const readAnew = () => queryClient.invalidateQueries({ queryKey: ["merchant-events"] });
  async function retry(): Promise<void> {
    await parley.merchantEvents.retry(event.id);
    toast("The event is sent again.");
    await readAnew();
  }
  async function release(): Promise<void> {
    await parley.merchantEvents.release(event.id);
    toast("The event is sent now.");
    await readAnew();
  }
  async function discard(): Promise<void> {
    await parley.merchantEvents.discard(event.id);
    toast("The event is discarded.");
    await readAnew();
  }
  return (
    <span className="row-actions">
      {moves.retry && event.status !== "uncertain" && (
        <Button onClick={() => void retry().catch(toastError)}>Retry</Button>
      )}
      {moves.retry && event.status === "uncertain" && (
        <ConfirmButton label="Retry" title="Send this event again?" tone="plain" onConfirm={retry}>
          <p>
            Nobody knows whether it arrived. It carries the same id as before, by which the provider can know it for the
            same; look there first.
          </p>
        </ConfirmButton>
      )}
      {moves.release && <Button onClick={() => void release().catch(toastError)}>Release</Button>}
      {moves.discard && (
        <ConfirmButton label="Discard" title="Discard this event?" onConfirm={discard}>
          <p>
            Its {countText(event.totalTokens)} tokens are never reported to the provider, so nobody is billed for them.
            This cannot be undone.
          </p>
        </ConfirmButton>
      )}
    </span>
  );
}
