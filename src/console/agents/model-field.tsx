import { useQuery } from "@tanstack/react-query";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useProviders } from "../api/providers.ts";
import { FieldFrame } from "../parts/fields.tsx";
import type { FormState } from "../parts/form.tsx";
import type { AgentForm } from "./agent-form.ts";

/** The model's id, with those that other agents use and those that its provider lists. */
export function ModelField({ form }: { readonly form: FormState<AgentForm> }) {
  const { providerId } = form.values;
  const provider = useProviders().data?.providers.find(({ id }) => id === providerId);
  const models = useQuery({
    queryKey: ["provider-models", providerId],
    queryFn: ({ signal }) => parley.providers.listModels(providerId, { signal }),
    // A custom provider has no list.
    enabled: provider !== undefined && provider.providerType !== "custom",
    retry: false,
    staleTime: 60_000,
  });
  const agents = useAgents();
  const used = agents.data?.agents.filter((agent) => agent.providerId === providerId).map(({ model }) => model) ?? [];
  const known = new Set([...used, ...(models.data?.models.map(({ id }) => id) ?? [])].filter((id) => id !== null));
  const hint = models.isError ? "The provider's list of models cannot be read; type the model's id." : undefined;
  return (
    <FieldFrame label="Model" hint={hint} fault={form.faults.model}>
      {(described) => (
        <>
          <input
            {...described}
            list={`${described.id}-list`}
            autoComplete="off"
            value={form.values.model}
            onChange={(event) => form.set("model", event.target.value)}
          />
          <datalist id={`${described.id}-list`}>
            {[...known].map((id) => (
              <option key={id} value={id} />
            ))}
          </datalist>
        </>
      )}
    </FieldFrame>
  );
}
