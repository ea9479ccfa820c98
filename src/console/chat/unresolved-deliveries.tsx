import type { UnresolvedChatDelivery } from "parley/client";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, SelectFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { ChatTabs } from "./chat-tabs.tsx";
import { platformText } from "./chat-words.ts";
import { deliveryColumns } from "./delivery-columns.tsx";

/** How often the first page is read anew, in ms. */
const refreshMs = 5000;
const statuses = ["failed", "ambiguous"] as const;

const shared = deliveryColumns<UnresolvedChatDelivery>(
  ({ agentId }) => agentId,
  ({ connectionId }) => connectionId,
);
const platform: Column<UnresolvedChatDelivery> = {
  name: "Connection",
  cell: ({ connectionId, platform: name }) => <Link href={`/chat/${connectionId}`}>{platformText(name)}</Link>,
};
const columns = [...shared.slice(0, 2), platform, ...shared.slice(2)];

/** The deliveries of all connections that wait for a person, the newest first. */
export function UnresolvedDeliveries() {
  const [{ status }, setFilters] = useFilters("status");
  const list = useCursorList<UnresolvedChatDelivery>({
    key: ["chat-deliveries", "unresolved", status],
    load: async (cursor, signal) => {
      const known = statuses.find((one) => one === status);
      const query = { limit: 50, ...(known && { status: known }), ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.chatDeliveries.listUnresolved(query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs,
  });
  return (
    <PageFrame title="Chat">
      <ChatTabs />
      <FilterBar>
        <SelectFilter
          label="Status"
          value={status}
          options={statuses}
          onChange={(chosen) => setFilters({ status: chosen })}
        />
      </FilterBar>
      <ListView
        list={list}
        caption="Deliveries to repair, the newest first"
        columns={columns}
        rowKey={({ id }) => id}
        empty="Nothing waits for a person."
      />
    </PageFrame>
  );
}
