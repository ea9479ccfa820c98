import { useQuery } from "@tanstack/react-query";
import type { ModelPrice, ModelPriceUpdate } from "parley/client";
import { useId, useState } from "react";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useProviders } from "../api/providers.ts";
import { queryClient } from "../api/queries.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { useUnpricedModels } from "../parts/cost.tsx";
import { FieldFrame } from "../parts/fields.tsx";
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

const fieldNames = ["providerId", "model", ...amounts.map(([name]) => name)];
/** What an amount is where it is left out. */
const usualOf: { readonly [name: string]: string } = { cachedInputUsd: "as input", cacheWriteUsd: "as input" };

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
        In US dollars per million tokens. Your prices come before those of the list that the service brings. Of a model
        without either no cost is known, and “–” is shown. A change counts from the next call of the model.
      </p>
      <Section title="Own prices">
        <Await query={prices}>{(known) => <EditPrices key={prices.dataUpdatedAt} known={known.prices} />}</Await>
      </Section>
    </PageFrame>
  );
}

function EditPrices({ known }: { readonly known: readonly ModelPrice[] }) {
  // Rows may be taken away after they were sent: what the service says of one goes by its place among those sent.
  const [sentKeys, setSentKeys] = useState<readonly number[]>([]);
  const form = useApiForm<PricesForm>(
    { prices: known.map(rowOf) },
    async ({ prices }) => {
      setSentKeys(prices.map(({ key }) => key));
      const saved = await parley.modelPrices.replace({ prices: prices.map(priceOf) });
      queryClient.setQueryData(["model-prices"], saved);
      toast("The prices are saved.");
    },
    ({ prices }) => ["prices", ...prices.flatMap((_, at) => ["", ...fieldNames].map((name) => placeOf(at, name)))],
  );
  const { prices } = form.values;
  const priced = new Set(prices.map(({ model }) => model.trim()));
  const lacking = useUnpricedModels().filter((model) => !priced.has(model));
  const add = <Button onClick={() => form.set("prices", [...prices, rowOf({})])}>Add a price</Button>;
  return (
    <ApiForm form={form} action="Save" needs="admin" disabled={!form.isChanged} beside={add}>
      {prices.length === 0 && <p className="hint">You have set none.</p>}
      {prices.map((row) => (
        <PriceFields key={row.key} form={form} row={row} sentAt={sentKeys.indexOf(row.key)} />
      ))}
      {form.faults.prices !== undefined && (
        <p className="fault" role="alert">
          {form.faults.prices}
        </p>
      )}
      {lacking.length > 0 && (
        <div className="lacking-prices">
          <p className="hint">Used in the last 31 days while there was no price:</p>
          {lacking.map((model) => (
            <Button key={model} icon="plus" onClick={() => form.set("prices", [...prices, rowOf({ model })])}>
              {model}
            </Button>
          ))}
        </div>
      )}
    </ApiForm>
  );
}

/** Where the service says that a price is wrong; without a name, the price as a whole. */
function placeOf(at: number, name: string): string {
  return ["prices", at, name].filter((part) => part !== "").join(".");
}

interface PriceFieldsProps {
  readonly form: FormState<PricesForm>;
  readonly row: PriceRow;
  /** Its place among the rows that were sent last; -1 where it was not. */
  readonly sentAt: number;
}

function PriceFields({ form, row, sentAt }: PriceFieldsProps) {
  const modelsId = useId();
  const faultOf = (name: string) => form.faults[placeOf(sentAt, name)];
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
      <FieldFrame label="Model" fault={faultOf("model") ?? faultOf("")}>
        {(described) => (
          <input
            {...described}
            list={modelsId}
            autoComplete="off"
            value={row.model}
            onChange={(event) => set({ model: event.target.value })}
          />
        )}
      </FieldFrame>
      <datalist id={modelsId}>
        {[...models].map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      <FieldFrame label="Provider" fault={faultOf("providerId")}>
        {(described) => (
          <select {...described} value={row.providerId} onChange={(event) => set({ providerId: event.target.value })}>
            <option value="">any</option>
            {providers.map((provider) => (
              <option key={provider.id} value={provider.id}>
                {provider.name}
              </option>
            ))}
          </select>
        )}
      </FieldFrame>
      {amounts.map(([name, label]) => (
        <FieldFrame key={name} label={label} fault={faultOf(name)}>
          {(described) => (
            <input
              {...described}
              inputMode="decimal"
              autoComplete="off"
              placeholder={usualOf[name]}
              value={row[name]}
              onChange={(event) => set({ [name]: event.target.value })}
            />
          )}
        </FieldFrame>
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
