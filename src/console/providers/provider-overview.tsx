import { useQuery } from "@tanstack/react-query";
import type { ProviderCreate, ProviderSummary } from "parley/client";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { useProviderMarks } from "../api/marks.ts";
import { queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { SelectField, TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { TestProvider } from "./provider-test.tsx";
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
  { name: "Address and key", cell: ({ id }) => <Address providerId={id} />, wideOnly: true },
  { name: "Agents", cell: ({ id }) => <UsedBy providerId={id} /> },
  { name: "Last failure", cell: ({ id }) => <LastFailure providerId={id} /> },
  { name: "", cell: (provider) => <TestInRow provider={provider} /> },
];

/** Where it is asked, and the end of its key; what the list does not say is read for each. */
function Address({ providerId }: { readonly providerId: string }) {
  const { data } = useQuery({
    queryKey: ["provider", providerId],
    queryFn: ({ signal }) => parley.providers.get(providerId, { signal }),
  });
  if (data === undefined) return <span className="faint">…</span>;
  return (
    <>
      {data.baseUrl ?? "the vendor's own"}
      {data.keyFragment !== "" && <code className="block faint">…{data.keyFragment}</code>}
    </>
  );
}

/** Agents that are named in a row. */
const namedMax = 3;

/** The agents that use it, as their own model or as a fallback. */
function UsedBy({ providerId }: { readonly providerId: string }) {
  const agents = useAgents().data?.agents ?? [];
  const users = agents.filter(
    (agent) =>
      agent.providerId === providerId || agent.fallbackModels.some((fallback) => fallback.providerId === providerId),
  );
  if (users.length === 0) return <span className="faint">none</span>;
  return (
    <>
      {users.slice(0, namedMax).map(({ id, name }, at) => (
        <span key={id}>
          {at > 0 && ", "}
          <Link href={`/agents/${id}`}>{name}</Link>
        </span>
      ))}
      {users.length > namedMax && <Link href={`/providers/${providerId}`}>, {users.length - namedMax} more</Link>}
    </>
  );
}

function LastFailure({ providerId }: { readonly providerId: string }) {
  const mark = useProviderMarks().data?.data.find((one) => one.providerId === providerId);
  if (mark === undefined) return <span className="faint">–</span>;
  return (
    <>
      <Link href={`/turns/${mark.turnId}`} title={mark.message}>
        {[mark.status ?? "no answer", mark.code].filter(Boolean).join(" · ")}
      </Link>{" "}
      {mark.failedInHour > 0 && <StatusBadge status="failing" />}
      <span className="block faint">
        <When at={mark.at} />
      </span>
    </>
  );
}

function TestInRow({ provider }: { readonly provider: ProviderSummary }) {
  return useMay("editor") ? <TestProvider provider={provider} /> : null;
}

/** The providers, and a form that adds one. */
export function ProviderOverview() {
  const [{ new: begins }] = useFilters("new");
  const [creating, setCreating] = useState(begins !== undefined);
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
        <NewProvider />
      </Dialog>
    </PageFrame>
  );
}

/** Adds a provider, and shows its page, which says at once whether its models can be read. */
function NewProvider() {
  const [, navigate] = useLocation();
  const empty = { name: "", providerType: "openai", baseUrl: "", apiKey: "" };
  const form = useApiForm(empty, async ({ name, providerType, baseUrl, apiKey }) => {
    const made = await parley.providers.create({
      ...{ name, apiKey, providerType: providerType as ProviderCreate["providerType"] },
      ...(baseUrl.trim() !== "" && { baseUrl: baseUrl.trim() }),
    });
    await queryClient.invalidateQueries({ queryKey: ["providers"] });
    toast(`${name} is created.`);
    navigate(`/providers/${made.id}`);
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
        placeholder="https://models.example.com/v1"
        hint={
          form.values.providerType === "custom"
            ? "Needed. For a model on your own machine the service has to be started with ALLOW_PRIVATE_NETWORK=1."
            : "Empty: the vendor's own."
        }
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
