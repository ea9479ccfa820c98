import { useQuery } from "@tanstack/react-query";
import { ParleyError, type Provider } from "parley/client";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useProviderMarks } from "../api/marks.ts";
import { queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { countText } from "../parts/moment.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { newAgentPath, TestProvider } from "./provider-test.tsx";
import { providerTypeText } from "./provider-types.ts";

/** One provider: what it is, its name, and its models. */
export function ProviderPage({ providerId }: { readonly providerId: string }) {
  const query = useQuery({
    queryKey: ["provider", providerId],
    queryFn: ({ signal }) => parley.providers.get(providerId, { signal }),
  });
  return (
    <PageFrame
      title={query.data?.name ?? "Provider"}
      parent={{ title: "Providers", to: "/providers" }}
      actions={
        query.data && (
          <>
            <TestProvider provider={query.data} />
            <DeleteProvider provider={query.data} />
          </>
        )
      }
    >
      <Await query={query}>
        {(provider) => (
          <>
            <Facts
              facts={{
                Id: <CopyableId id={provider.id} />,
                Kind: providerTypeText(provider.providerType),
                "Base URL": provider.baseUrl,
                Key: provider.keyFragment === "" ? "not shown" : <code>…{provider.keyFragment}</code>,
                Created: <When at={provider.createdAt} />,
              }}
            />
            <LastFailure providerId={provider.id} />
            <Section title="Used by">
              <UsedBy providerId={provider.id} />
            </Section>
            <Section title="Settings">
              <Rename key={provider.updatedAt} provider={provider} />
            </Section>
            <Section title="Models">
              <Models provider={provider} />
            </Section>
          </>
        )}
      </Await>
    </PageFrame>
  );
}

/** What the vendor said last of a turn that it failed. */
function LastFailure({ providerId }: { readonly providerId: string }) {
  const mark = useProviderMarks().data?.data.find((one) => one.providerId === providerId);
  if (mark === undefined) return null;
  return (
    <section className="failure-box" aria-label="Last failure">
      <p>
        <strong>Last failure</strong> <When at={mark.at} />, {mark.model}:{" "}
        {[mark.status === null ? "no answer" : `status ${mark.status}`, mark.code].filter(Boolean).join(", ")}{" "}
        <Link href={`/turns/${mark.turnId}`}>Turn</Link>
      </p>
      <blockquote dir="auto">{mark.message}</blockquote>
    </section>
  );
}

function UsedBy({ providerId }: { readonly providerId: string }) {
  const mayEdit = useMay("editor");
  const agents = useAgents().data?.agents ?? [];
  const users = agents.flatMap(({ id, name, providerId: own, model, fallbackModels }) => [
    ...(own === providerId ? [{ id, name, model: model ?? "no model" }] : []),
    ...fallbackModels
      .filter((fallback) => fallback.providerId === providerId)
      .map((fallback) => ({ id, name, model: `${fallback.model}, as a fallback` })),
  ]);
  if (users.length === 0)
    return (
      <Empty>
        No agent uses it.{" "}
        {mayEdit && (
          <>
            <Link href={newAgentPath(providerId)}>Make one</Link>.
          </>
        )}
      </Empty>
    );
  return (
    <ul className="models">
      {users.map(({ id, name, model }) => (
        <li key={`${id} ${model}`}>
          <Link href={`/agents/${id}`}>{name}</Link> <span className="faint">{model}</span>
        </li>
      ))}
    </ul>
  );
}

function Rename({ provider }: { readonly provider: Provider }) {
  const form = useApiForm({ name: provider.name }, async ({ name }) => {
    await parley.providers.update(provider.id, { name });
    await queryClient.invalidateQueries({ queryKey: ["provider", provider.id] });
    await queryClient.invalidateQueries({ queryKey: ["providers"] });
    toast("The name is saved.");
  });
  return (
    <ApiForm form={form} action="Save" disabled={!form.isChanged}>
      <TextField
        form={form}
        name="name"
        label="Name"
        hint="Address and key cannot be changed: add a provider with the new ones, and choose it in the agents above."
      />
    </ApiForm>
  );
}

/** This many models are shown at first; a router lists hundreds. */
const shownAtFirst = 40;

function Models({ provider: { id: providerId, providerType } }: { readonly provider: Provider }) {
  const [all, setAll] = useState(false);
  const isListed = providerType !== "custom";
  const query = useQuery({
    queryKey: ["provider-models", providerId],
    queryFn: ({ signal }) => parley.providers.listModels(providerId, { signal }),
    enabled: isListed,
    retry: false,
    staleTime: 60_000,
  });
  if (!isListed) return <Empty>A custom provider has no list of models: an agent's settings name one by its id.</Empty>;
  return (
    <Await query={query}>
      {({ models }) =>
        models.length === 0 ? (
          <Empty>The provider lists no model.</Empty>
        ) : (
          <>
            <ul className="models">
              {models.slice(0, all ? undefined : shownAtFirst).map(({ id }) => (
                <li key={id}>
                  <code>{id}</code>
                </li>
              ))}
            </ul>
            {!all && models.length > shownAtFirst && (
              <p className="more">
                <button type="button" className="button plain" onClick={() => setAll(true)}>
                  {countText(models.length - shownAtFirst)} more
                </button>
              </p>
            )}
          </>
        )
      }
    </Await>
  );
}

/** Deletes a provider; where versions of agents use it, only after the person has agreed to that. */
function DeleteProvider({ provider }: { readonly provider: Provider }) {
  const [, navigate] = useLocation();
  const [invalidates, setInvalidates] = useState(false);
  async function remove(): Promise<void> {
    try {
      await parley.providers.delete(provider.id, invalidates ? { confirmVersionInvalidation: true } : {});
    } catch (error) {
      if (error instanceof ParleyError && error.status === 409) setInvalidates(true);
      throw error;
    }
    await queryClient.invalidateQueries({ queryKey: ["providers"] });
    navigate("/providers", { replace: true });
    toast(`${provider.name} is deleted.`);
  }
  return (
    <ConfirmButton label="Delete" title={`Delete ${provider.name}?`} onConfirm={remove}>
      <p>
        {invalidates
          ? "If earlier versions of agents use it, press Delete again: they cannot be run or restored any more."
          : "Agents that use it have to be given another provider first."}
      </p>
    </ConfirmButton>
  );
}
