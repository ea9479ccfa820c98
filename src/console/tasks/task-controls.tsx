import { CheckField, SelectField, TextAreaField, TextField } from "../parts/fields.tsx";
import type { FormState } from "../parts/form.tsx";
import { exactText } from "../parts/moment.ts";
import { nextFires, scheduleOf, type TaskForm } from "./task-form.ts";

const kinds = [
  ["none", "None: it is started by hand, or over HTTP"],
  ["once", "Once"],
  ["interval", "At an interval"],
  ["cron", "By the calendar (cron)"],
] as const;

/** The fields of a task, and when its schedule would fire next. */
export function TaskControls({ form }: { readonly form: FormState<TaskForm> }) {
  const { kind } = form.values;
  return (
    <>
      <TextField form={form} name="name" label="Name" />
      <TextAreaField form={form} name="prompt" label="Prompt" rows={6} hint="What the agent is asked in each run." />
      <fieldset>
        <legend>Schedule</legend>
        <SelectField form={form} name="kind" label="Kind" options={kinds} />
        {kind === "once" && <TextField form={form} name="at" label="At" type="datetime-local" hint="Your own time." />}
        {kind === "interval" && (
          <>
            <TextField form={form} name="every" label="Every" type="number" />
            <SelectField form={form} name="unit" label="Unit" options={["minutes", "hours", "days"]} />
          </>
        )}
        {kind === "cron" && (
          <>
            <TextField
              form={form}
              name="expression"
              label="Expression"
              hint="Minute, hour, day of the month, month, day of the week."
            />
            <TextField form={form} name="timezone" label="Time zone" hint="Such as Europe/Berlin." />
          </>
        )}
        {kind !== "none" && <CheckField form={form} name="enabled" label="Enabled" hint="Off: it does not fire." />}
        <NextFires form={form} />
      </fieldset>
      <TextAreaField form={form} name="metadata" label="Metadata" hint="JSON of your own." code />
    </>
  );
}

function NextFires({ form }: { readonly form: FormState<TaskForm> }) {
  const { kind } = form.values;
  if (kind !== "cron" && kind !== "once") return null;
  const fires = nextFires(scheduleOf(form.values), new Date(), 5);
  if (fires.length === 0) return <p className="hint">It would not fire any more.</p>;
  return (
    <>
      <p className="hint">It fires next, in your own time:</p>
      <ul className="hint">
        {fires.map((fire) => (
          <li key={fire.toISOString()}>{exactText(fire.toISOString())}</li>
        ))}
      </ul>
    </>
  );
}
