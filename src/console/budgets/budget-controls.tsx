import { useAgents } from "../api/agents.ts";
import { CheckField, SelectField, TextField } from "../parts/fields.tsx";
import type { FormState } from "../parts/form.tsx";
import { type BudgetForm, eachChoices, periodChoices, unitChoices } from "./budget-words.ts";

/** The fields of a budget. */
export function BudgetControls({ form }: { readonly form: FormState<BudgetForm> }) {
  const agents = useAgents().data?.agents ?? [];
  const names = agents.map(({ id, name }) => [id, name] as const);
  return (
    <>
      <TextField form={form} name="name" label="Name" />
      <div className="field-row">
        <TextField form={form} name="limit" label="At most" hint="0 stops everything." />
        <SelectField form={form} name="unit" label="Of" options={unitChoices} />
        <SelectField form={form} name="period" label="In" options={periodChoices} />
        <SelectField form={form} name="each" label="For" options={eachChoices} />
      </div>
      <div className="field-row">
        <SelectField form={form} name="agentId" label="Only turns of agent" options={[["", "any"], ...names]} />
        <TextField form={form} name="userId" label="Only turns of user" hint="Empty: any." />
      </div>
      <TextField
        form={form}
        name="warnAtPercent"
        label="Warn at percent"
        type="number"
        hint="Webhooks are told then (budget.warned). Empty: never."
      />
      <CheckField form={form} name="enabled" label="Enabled" hint="Off: it counts, and stops nothing." />
      <p className="hint">Periods are those of the calendar by UTC.</p>
    </>
  );
}
