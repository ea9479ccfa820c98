import type { ApiKey, ApiKeyCreated } from "parley/client";
import { useState } from "react";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { queryClient } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ConfirmButton, Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { ShownOnce } from "../parts/shown-once.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";

const columns: readonly Column<ApiKey>[] = [
  { name: "Name", cell: ({ name }) => name },
  { name: "Ends with", cell: ({ keyFragment }) => <code>…{keyFragment}</code> },
  { name: "Created", cell: ({ createdAt }) => <When at={createdAt} /> },
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

/** Makes a key, and shows its token: the service never does again. */
function NewKey({ onDone }: { onDone(): void }) {
  const [made, setMade] = useState<ApiKeyCreated | null>(null);
  const form = useApiForm({ name: "", expiresAt: "" }, async ({ name, expiresAt }) => {
    const until = expiresAt === "" ? {} : { expiresAt: new Date(expiresAt).toISOString() };
    setMade(await parley.apiKeys.create({ name, ...until }));
    await queryClient.invalidateQueries({ queryKey: ["api-keys"] });
  });
  if (made === null)
    return (
      <ApiForm form={form} action="Create">
        <TextField form={form} name="name" label="Name" hint="Where it is used." />
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
