import type { ProviderCreate, ProviderSummary } from "parley/client";
import { useState } from "react";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { queryClient } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { SelectField, TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { providerChoices, providerTypeText } from "./provider-types.ts";

const columns: readonly Column<ProviderSummary>[] = [
  {
    name: "Name",
    cell: ({ id, name }) => (
      <Link href={`/providers/${id}`} className="row-link">
        {name}
      </Link>
    ),
  },
  { name: "Kind", cell: ({ providerType }) => providerTypeText(providerType) },
  { name: "Created", cell: ({ createdAt }) => <When at={createdAt} /> },
];

/** The providers, and a form that adds one. */
export function ProviderOverview() {
  const [creating, setCreating] = useState(false);
  const list = useCursorList<ProviderSummary>({
    key: ["providers", "list"],
    load: async (cursor, signal) => {
      const { providers, nextCursor } = await parley.providers.list(
        { limit: 50, ...(cursor && { cursor }) },
        { signal },
      );
      return { rows: providers, nextCursor };
    },
  });
  return (
    <PageFrame
      title="Providers"
      actions={
        <Button tone="primary" onClick={() => setCreating(true)}>
          New provider
        </Button>
      }
    >
      <ListView
        list={list}
        caption="Model providers"
        columns={columns}
        rowKey={({ id }) => id}
        empty="There is no provider yet. Agents need one: a model vendor with your key."
      />
      <Dialog title="New provider" open={creating} onOpenChange={setCreating}>
        <NewProvider onDone={() => setCreating(false)} />
      </Dialog>
    </PageFrame>
  );
}

function NewProvider({ onDone }: { onDone(): void }) {
  const empty = { name: "", providerType: "openai", baseUrl: "", apiKey: "" };
  const form = useApiForm(empty, async ({ name, providerType, baseUrl, apiKey }) => {
    await parley.providers.create({
      ...{ name, apiKey, providerType: providerType as ProviderCreate["providerType"] },
      ...(baseUrl.trim() !== "" && { baseUrl: baseUrl.trim() }),
    });
    await queryClient.invalidateQueries({ queryKey: ["providers"] });
    toast(`${name} is created.`);
    onDone();
  });
  return (
    <ApiForm form={form} action="Create">
      <TextField form={form} name="name" label="Name" />
      <SelectField form={form} name="providerType" label="Kind" options={providerChoices} />
      <TextField
        form={form}
        name="baseUrl"
        label="Base URL"
        type="url"
        hint={form.values.providerType === "custom" ? "Needed for a custom provider." : "Empty: the vendor's own."}
      />
      <TextField
        form={form}
        name="apiKey"
        label="Vendor's key"
        type="password"
        hint="It is stored sealed, and never shown again."
      />
    </ApiForm>
  );
}
