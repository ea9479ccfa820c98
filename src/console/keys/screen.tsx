import type { ApiKey, ApiKeyCreated } from "parley/client";
import { useState } from "react";
import { useAgentName, useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { queryClient } from "../api/queries.ts";
import type { ConsoleRole } from "../api/session.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ConfirmButton, Dialog } from "../parts/dialog.tsx";
import { SelectField, TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { RoleField } from "../parts/role-field.tsx";
import { ShownOnce } from "../parts/shown-once.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";

const columns: readonly Column<ApiKey>[] = [
  { name: "Name", cell: ({ name }) => name },
  { name: "Ends with", cell: ({ keyFragment }) => <code>…{keyFragment}</code> },
  { name: "Created", cell: ({ createdAt }) => <When at={createdAt} /> },
  { name: "Role", cell: ({ role }) => role },
  { name: "Agents", cell: ({ agentIds }) => (agentIds === null ? "all" : <AgentNames agentIds={agentIds} />) },
  { name: "Last used", cell: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : <When at={lastUsedAt} />) },
  { name: "Expires", cell: ({ expiresAt }) => (expiresAt === null ? "never" : <When at={expiresAt} />) },
  { name: "", cell: (key) => <DeleteKey apiKey={key} /> },
];

/** The API keys of the tenant. */
export default function ApiKeys() {
  const [creating, setCreating] = useState(false);
  const list = useCursorList<ApiKey>({
    key: ["api-keys"],
    load: async (cursor, signal) => {
      const { apiKeys, nextCursor } = await parley.apiKeys.list({ limit: 50, ...(cursor && { cursor }) }, { signal });
      return { rows: apiKeys, nextCursor };
    },
  });
  return (
    <PageFrame
      title="Keys"
      actions={
        <Button tone="primary" onClick={() => setCreating(true)}>
          New key
        </Button>
      }
    >
      <ListView
        list={list}
        caption="API keys"
        columns={columns}
        rowKey={({ id }) => id}
        empty="There is no API key. Programs need one to call the service."
      />
      <Dialog title="New key" open={creating} onOpenChange={setCreating}>
        <NewKey onDone={() => setCreating(false)} />
      </Dialog>
    </PageFrame>
  );
}

function AgentNames({ agentIds }: { readonly agentIds: readonly string[] }) {
  const nameOf = useAgentName();
  return agentIds.map(nameOf).join(", ");
}

interface NewKeyForm {
  readonly name: string;
  readonly role: ConsoleRole;
  /** Empty: all. */
  readonly agentId: string;
  readonly expiresAt: string;
}

/** Makes a key, and shows its token: the service never does again. */
function NewKey({ onDone }: { onDone(): void }) {
  const [made, setMade] = useState<ApiKeyCreated | null>(null);
  const { data } = useAgents();
  const agents = (data?.agents ?? []).map(({ id, name }) => [id, name] as const);
  const begun: NewKeyForm = { name: "", role: "runner", agentId: "", expiresAt: "" };
  const form = useApiForm(begun, async ({ name, role, agentId, expiresAt }) => {
    const until = expiresAt === "" ? {} : { expiresAt: new Date(expiresAt).toISOString() };
    const agentIds = agentId === "" ? {} : { agentIds: [agentId] };
    setMade(await parley.apiKeys.create({ name, role, ...agentIds, ...until }));
    await queryClient.invalidateQueries({ queryKey: ["api-keys"] });
  });
  if (made === null)
    return (
      <ApiForm form={form} action="Create">
        <TextField form={form} name="name" label="Name" hint="Where it is used." />
        <RoleField form={form} hint="It cannot be changed later: make another key then." />
        <SelectField
          form={form}
          name="agentId"
          label="Agents"
          options={[["", "all"], ...agents]}
          hint="The API takes several, as agentIds."
        />
        <TextField form={form} name="expiresAt" label="Expires" type="datetime-local" hint="Empty: never." />
      </ApiForm>
    );
  return (
    <ShownOnce secret={made.token} onDone={onDone}>
      Copy the key now. It is not shown again.
    </ShownOnce>
  );
}

function DeleteKey({ apiKey }: { readonly apiKey: ApiKey }) {
  async function remove(): Promise<void> {
    await parley.apiKeys.delete(apiKey.id);
    await queryClient.invalidateQueries({ queryKey: ["api-keys"] });
    toast(`${apiKey.name} is deleted.`);
  }
  return (
    <ConfirmButton label="Delete" title={`Delete ${apiKey.name}?`} onConfirm={remove}>
      <p>
        Programs that use it (…{apiKey.keyFragment}) are refused from now on, and who signed in here with it is signed
        out.
      </p>
    </ConfirmButton>
  );
}
