import type { Memory } from "parley/client";
import { useState } from "react";
import { firstUsable, useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ConfirmButton, Dialog } from "../parts/dialog.tsx";
import { TextAreaField, TextField } from "../parts/fields.tsx";
import { FilterBar, TextFilter } from "../parts/filter-bar.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";

/** What agents keep from one session to the next: one agent's memories at a time. */
export default function Memories() {
  const [filters, setFilters] = useFilters("agentId", "userId", "search");
  const agents = useAgents();
  const known = agents.data?.agents ?? [];
  const agentId = filters.agentId ?? firstUsable(known)?.id;
  const [creating, setCreating] = useState(false);
  return (
    <PageFrame
      title="Memory"
      actions={
        <Button tone="primary" disabled={agentId === undefined} onClick={() => setCreating(true)}>
          New memory
        </Button>
      }
    >
      <FilterBar>
        <AgentPicker value={agentId} onChange={(chosen) => setFilters({ agentId: chosen })} />
        <TextFilter label="Search" value={filters.search} onChange={(search) => setFilters({ search })} />
        <TextFilter label="User" value={filters.userId} onChange={(userId) => setFilters({ userId })} />
      </FilterBar>
      {agentId === undefined ? (
        agents.isSuccess && <Empty>There is no agent yet, so nobody remembers anything.</Empty>
      ) : (
        <>
          <MemoryTable agentId={agentId} userId={filters.userId} search={filters.search} />
          <Dialog title="New memory" open={creating} onOpenChange={setCreating}>
            <EditMemory agentId={agentId} memory={null} onDone={() => setCreating(false)} />
          </Dialog>
        </>
      )}
    </PageFrame>
  );
}

interface MemoryTableProps {
  readonly agentId: string;
  readonly userId: string | undefined;
  readonly search: string | undefined;
}

function MemoryTable({ agentId, userId, search }: MemoryTableProps) {
  const [editing, setEditing] = useState<Memory | null>(null);
  const mayEdit = useMay("editor");
  const list = useCursorList<Memory>({
    key: ["memories", agentId, userId, search],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...(userId && { userId }), ...(search && { search }), ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.memories.list(agentId, query, { signal });
      return { rows: data, nextCursor };
    },
  });
  const columns: readonly Column<Memory>[] = [
    { name: "Text", cell: ({ text }) => <span className="memory-text">{text}</span> },
    { name: "User", cell: (row) => row.userId || <span className="faint">everybody</span> },
    { name: "Last used", cell: ({ lastAccessedAt }) => <When at={lastAccessedAt} /> },
    {
      name: "",
      cell: (memory) => (
        <span className="row-actions">
          {mayEdit && <Button onClick={() => setEditing(memory)}>Edit</Button>}
          <DeleteMemory memory={memory} />
        </span>
      ),
    },
  ];
  return (
    <>
      <ListView
        list={list}
        caption="Memories, the newest first"
        columns={columns}
        rowKey={({ id }) => id}
        empty={userId || search ? "No memory matches." : "This agent remembers nothing yet."}
      />
      <Dialog title="Edit memory" open={editing !== null} onOpenChange={() => setEditing(null)}>
        {editing && <EditMemory agentId={agentId} memory={editing} onDone={() => setEditing(null)} />}
      </Dialog>
    </>
  );
}

interface EditMemoryProps {
  readonly agentId: string;
  /** Null for a new one. */
  readonly memory: Memory | null;
  onDone(): void;
}

function EditMemory({ agentId, memory, onDone }: EditMemoryProps) {
  const form = useApiForm({ text: memory?.text ?? "", userId: "" }, async ({ text, userId }) => {
    if (memory !== null) await parley.memories.update(agentId, memory.id, { text });
    else await parley.memories.create(agentId, { text, ...(userId.trim() !== "" && { userId: userId.trim() }) });
    await queryClient.invalidateQueries({ queryKey: ["memories", agentId] });
    toast("The memory is saved.");
    onDone();
  });
  return (
    <ApiForm form={form} action={memory === null ? "Create" : "Save"} disabled={!form.isChanged}>
      <TextAreaField form={form} name="text" label="Text" rows={6} />
      {memory === null && <TextField form={form} name="userId" label="User" hint="Empty: for everybody." />}
    </ApiForm>
  );
}

function DeleteMemory({ memory }: { readonly memory: Memory }) {
  async function remove(): Promise<void> {
    await parley.memories.delete(memory.agentId, memory.id);
    await queryClient.invalidateQueries({ queryKey: ["memories", memory.agentId] });
    toast("The memory is deleted.");
  }
  return (
    <ConfirmButton label="Delete" title="Delete this memory?" onConfirm={remove}>
      <p className="memory-text">{memory.text}</p>
    </ConfirmButton>
  );
}
