import { useQuery } from "@tanstack/react-query";
import type { ModelPrice, ModelPriceUpdate } from "parley/client";
import { useId } from "react";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useProviders } from "../api/providers.ts";
import { queryClient } from "../api/queries.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { ApiForm, type FormState, useApiForm } from "../parts/form.tsx";
import { PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { BudgetTabs } from "./budget-tabs.tsx";

/** A price as it is typed. */
interface PriceRow {
  readonly key: number;
  readonly providerId: string;
  readonly model: string;
  readonly inputUsd: string;
  readonly outputUsd: string;
  readonly cachedInputUsd: string;
  readonly cacheWriteUsd: string;
}

interface PricesForm {
  readonly prices: readonly PriceRow[];
}

const amounts = [
  ["inputUsd", "Input"],
  ["outputUsd", "Output"],
  ["cachedInputUsd", "Cached input"],
  ["cacheWriteUsd", "Cache write"],
] as const;

let lastKey = 0;

function rowOf(price: Partial<ModelPrice>): PriceRow {
  lastKey += 1;
  const { providerId = "", model = "", inputUsd = "", outputUsd = "", cachedInputUsd = "", cacheWriteUsd = "" } = price;
  return { key: lastKey, providerId, model, inputUsd, outputUsd, cachedInputUsd, cacheWriteUsd };
}

/** Returns the price that a row means; what is empty is left out. */
function priceOf({
  providerId,
  model,
  inputUsd,
  outputUsd,
  cachedInputUsd,
  cacheWriteUsd,
}: PriceRow): ModelPriceUpdate {
  return {
    ...{ model: model.trim(), inputUsd: inputUsd.trim(), outputUsd: outputUsd.trim() },
    ...(providerId !== "" && { providerId }),
    ...(cachedInputUsd.trim() !== "" && { cachedInputUsd: cachedInputUsd.trim() }),
    ...(cacheWriteUsd.trim() !== "" && { cacheWriteUsd: cacheWriteUsd.trim() }),
  };
}

/** The tenant's own prices, which are saved as a whole. */
export function PricesPage() {
  const prices = useQuery({
    queryKey: ["model-prices"],
    queryFn: ({ signal }) => parley.modelPrices.get({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <PageFrame title="Prices">
      <BudgetTabs />
      <p className="hint">
        In US dollars for a million tokens. A price here stands before that of the list that the service has; what is
        not in either costs nothing that is known, and is shown as “–”. A change counts from the next call of a model
        on.
      </p>
      <Section title="Own prices">
        <Await query={prices}>{(known) => <EditPrices key={prices.dataUpdatedAt} known={known.prices} />}</Await>
      </Section>
    </PageFrame>
  );
}

function EditPrices({ known }: { readonly known: readonly ModelPrice[] }) {
  const form = useApiForm<PricesForm>({ prices: known.map(rowOf) }, async ({ prices }) => {
    const saved = await parley.modelPrices.replace({ prices: prices.map(priceOf) });
    queryClient.setQueryData(["model-prices"], saved);
    toast("The prices are saved.");
  });
  const { prices } = form.values;
  const add = <Button onClick={() => form.set("prices", [...prices, rowOf({})])}>Add a price</Button>;
  return (
    <ApiForm form={form} action="Save" needs="admin" disabled={!form.isChanged} beside={add}>
      {prices.length === 0 && (
        <p className="hint">
          No price of your own. What a call costs comes from the list that the service brings; a model that it lacks has
          no cost.
        </p>
      )}
      {prices.map((row) => (
        <PriceFields key={row.key} form={form} row={row} />
      ))}
      {form.faults.prices !== undefined && (
        <p className="fault" role="alert">
          {placeText(form.faults.prices)}
        </p>
      )}
    </ApiForm>
  );
}

/** The service counts rows from 0, as programs do. */
function placeText(fault: string): string {
  return fault.replace(/^(\d+)\.?/, (_, at: string) => `Price ${Number(at) + 1}: `);
}

function PriceFields({ form, row }: { readonly form: FormState<PricesForm>; readonly row: PriceRow }) {
  const id = useId();
  const providers = useProviders().data?.providers ?? [];
  const models = new Set((useAgents().data?.agents ?? []).map(({ model }) => model).filter((model) => model !== null));
  const { prices } = form.values;
  const set = (change: Partial<PriceRow>) =>
    form.set(
      "prices",
      prices.map((one) => (one.key === row.key ? { ...one, ...change } : one)),
    );
  return (
    <fieldset className="price-row">
      <legend className="unseen">{row.model || "New price"}</legend>
      <div className="field">
        <label htmlFor={`${id}-model`}>Model</label>
        <input
          id={`${id}-model`}
          list={`${id}-models`}
          autoComplete="off"
          value={row.model}
          onChange={(event) => set({ model: event.target.value })}
        />
        <datalist id={`${id}-models`}>
          {[...models].map((model) => (
            <option key={model} value={model} />
          ))}
        </datalist>
      </div>
      <div className="field">
        <label htmlFor={`${id}-provider`}>Provider</label>
        <select
          id={`${id}-provider`}
          value={row.providerId}
          onChange={(event) => set({ providerId: event.target.value })}
        >
          <option value="">any</option>
          {providers.map((provider) => (
            <option key={provider.id} value={provider.id}>
              {provider.name}
            </option>
          ))}
        </select>
      </div>
      {amounts.map(([name, label]) => (
        <div className="field" key={name}>
          <label htmlFor={`${id}-${name}`}>{label}</label>
          <input
            id={`${id}-${name}`}
            inputMode="decimal"
            autoComplete="off"
            value={row[name]}
            onChange={(event) => set({ [name]: event.target.value })}
          />
        </div>
      ))}
      <IconButton
        label={`Remove the price of ${row.model || "this model"}`}
        icon="close"
        onClick={() =>
          form.set(
            "prices",
            prices.filter((one) => one.key !== row.key),
          )
        }
      />
    </fieldset>
  );
}
