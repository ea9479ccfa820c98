import { useId } from "react";
import { TextField } from "../parts/fields.tsx";
import type { FormState } from "../parts/form.tsx";
import { type WebhookForm, webhookEventChoices } from "./webhook-words.ts";

/** The fields of a webhook: where to, and what of. */
export function WebhookControls({ form }: { readonly form: FormState<WebhookForm> }) {
  return (
    <>
      <TextField form={form} name="url" label="URL" type="url" hint="Your server, which gets a POST for each event." />
      <TextField form={form} name="description" label="Description" />
      <EventChoice form={form} />
    </>
  );
}

function EventChoice({ form }: { readonly form: FormState<WebhookForm> }) {
  const id = useId();
  const { events } = form.values;
  const fault = form.faults.events;
  return (
    <fieldset aria-describedby={fault === undefined ? undefined : `${id}-fault`}>
      <legend>Events</legend>
      {webhookEventChoices.map(([name, hint]) => (
        <div key={name} className="field check">
          <input
            id={`${id}-${name}`}
            type="checkbox"
            checked={events.includes(name)}
            aria-describedby={`${id}-${name}-hint`}
            onChange={({ target }) =>
              form.set("events", target.checked ? [...events, name] : events.filter((each) => each !== name))
            }
          />
          <label htmlFor={`${id}-${name}`}>{name}</label>
          <p id={`${id}-${name}-hint`} className="hint">
            {hint}
          </p>
        </div>
      ))}
      {fault !== undefined && (
        <p id={`${id}-fault`} className="fault" role="alert">
          {fault}
        </p>
      )}
    </fieldset>
  );
}
