import { useQuery } from "@tanstack/react-query";
import type { DeadLetter, DiscardOutcome, QueueState } from "../../console-shapes/operator.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { readConsole, sendConsole } from "../api/fetch.ts";
import { useFilters } from "../api/filters.ts";
import { queryClient } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { FilterBar, SelectFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { toast, toastError } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { discardedText, discardMeaning } from "./discard-words.ts";

/** How often the first page is read anew, in ms. */
const refreshMs = 5000;
const path = "/console/api/operator/dead-letters";

const columns: readonly Column<DeadLetter>[] = [
  {
    name: "Job",
    cell: ({ id, task, error, payload }) => (
      <>
        <strong>
          {id} <code>{task}</code>
        </strong>
        {error !== null && <span className="error-text">{error}</span>}
        <Ids payload={payload} />
      </>
    ),
  },
  { name: "Attempts", cell: ({ attempts, maxAttempts }) => `${attempts} of ${maxAttempts}`, numeric: true },
  { name: "Added", cell: ({ createdAt }) => <When at={createdAt} />, wideOnly: true },
  { name: "Failed", cell: ({ failedAt }) => <When at={failedAt} /> },
  { name: "", cell: (job) => <DeadJobActions job={job} /> },
];

/** What the job is about: its payload has ids only. */
function Ids({ payload }: { readonly payload: unknown }) {
  return <code className="faint error-text">{JSON.stringify(payload)}</code>;
}

/** Jobs that no worker runs any more, the oldest first. */
export function DeadLetterList() {
  const [{ task }, setFilters] = useFilters("task");
  const queue = useQuery({
    queryKey: ["operator", "queue"],
    queryFn: ({ signal }) => readConsole<QueueState>("/console/api/operator/queue", { signal }),
  });
  const kinds = (queue.data?.jobs ?? []).filter(({ dead }) => dead > 0).map((one) => one.task);
  const list = useCursorList<DeadLetter>({
    key: ["operator", "dead-letters", task],
    load: async (cursor, signal) => {
      const query = new URLSearchParams({ limit: "50", ...(task && { task }), ...(cursor && { cursor }) });
      const page = await readConsole<{ data: DeadLetter[]; nextCursor: string | null }>(`${path}?${query}`, { signal });
      return { rows: page.data, nextCursor: page.nextCursor };
    },
    refreshMs,
  });
  return (
    <>
      <FilterBar>
        <SelectFilter
          label="Kind of job"
          value={task}
          options={task === undefined || kinds.includes(task) ? kinds : [...kinds, task]}
          onChange={(chosen) => setFilters({ task: chosen })}
        />
      </FilterBar>
      <ListView
        list={list}
        caption="Dead letters, the oldest first"
        columns={columns}
        rowKey={({ id }) => id}
        empty={task === undefined ? "There is no dead letter." : "There is no dead letter of this kind."}
      />
    </>
  );
}

function DeadJobActions({ job: { id, task } }: { readonly job: DeadLetter }) {
  const readAnew = () => queryClient.invalidateQueries({ queryKey: ["operator"] });
  async function retry(): Promise<void> {
    await sendConsole("POST", `${path}/${id}/retry`);
    await readAnew();
    toast(`Job ${id} runs again, with all its attempts.`);
  }
  async function discard(): Promise<void> {
    const { outcome } = await sendConsole<{ outcome: DiscardOutcome }>("POST", `${path}/${id}/discard`);
    await readAnew();
    toast(discardedText(id, outcome));
  }
  return (
    <span className="row-actions">
      <Button onClick={() => void retry().catch(toastError)}>Retry</Button>
      <ConfirmButton label="Discard" title={`Discard job ${id}?`} onConfirm={discard}>
        <p>It is taken out of the queue for good. {discardMeaning(task)}</p>
      </ConfirmButton>
    </span>
  );
}
