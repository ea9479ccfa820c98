import type { WebhookDelivery } from "parley/client";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, SelectFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { durationText } from "../parts/moment.ts";
import { toast, toastError } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { attemptText, newestAttempt } from "./webhook-words.ts";

const statusChoices = ["pending", "succeeded", "failed"] as const;

/** What was sent to a webhook, and what its server said, the newest first. */
export function WebhookDeliveries({ webhookId }: { readonly webhookId: string }) {
  const [filters, setFilters] = useFilters("status");
  const status = statusChoices.find((one) => one === filters.status);
  const list = useCursorList<WebhookDelivery>({
    key: ["webhook-deliveries", webhookId, status],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...(status && { status }), ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.webhookDeliveries.list(webhookId, query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: 3_000,
  });
  return (
    <>
      <FilterBar>
        <SelectFilter
          label="Status"
          value={filters.status}
          options={statusChoices}
          onChange={(chosen) => setFilters({ status: chosen })}
        />
      </FilterBar>
      <ListView
        list={list}
        caption="Deliveries, the newest first"
        columns={columns}
        rowKey={({ id }) => id}
        empty={status === undefined ? "Nothing was sent yet." : "No delivery matches."}
      />
    </>
  );
}

const columns: readonly Column<WebhookDelivery>[] = [
  {
    name: "Event",
    cell: ({ id, type }) => (
      <>
        <strong>{type}</strong> <code className="block faint">{id}</code>
      </>
    ),
  },
  { name: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
  { name: "Attempts", cell: ({ attemptCount }) => attemptCount, numeric: true },
  { name: "Last attempt", cell: LastAttempt },
  { name: "Next", cell: NextAttempt, wideOnly: true },
  { name: "Happened", cell: ({ timestamp }) => <When at={timestamp} /> },
  { name: "", cell: (delivery) => <RetryDelivery delivery={delivery} /> },
];

/** An address that fails is tried once a minute, so what is due may wait for others before it. */
function NextAttempt({ nextAttemptAt }: WebhookDelivery) {
  if (nextAttemptAt === null) return <span className="faint">–</span>;
  return Date.parse(nextAttemptAt) <= Date.now() ? "due" : <When at={nextAttemptAt} />;
}

/** What the receiver said last, or why it could not be asked. */
function LastAttempt(delivery: WebhookDelivery) {
  const last = newestAttempt([delivery]);
  if (last === undefined) return <span className="faint">–</span>;
  return (
    <span className={last.error === null ? undefined : "said-failure"}>
      {attemptText(last)}, in {durationText(last.ms)}
    </span>
  );
}

function RetryDelivery({ delivery: { id, webhookId } }: { readonly delivery: WebhookDelivery }) {
  async function retry(): Promise<void> {
    await parley.webhookDeliveries.retry(webhookId, id);
    await queryClient.invalidateQueries({ queryKey: ["webhook-deliveries", webhookId] });
    toast("The delivery is sent again.");
  }
  return useMay("editor") ? <Button onClick={() => void retry().catch(toastError)}>Retry</Button> : null;
}
