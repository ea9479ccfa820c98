import { ParleyError } from "parley/client";
import { type FormEvent, type ReactNode, useState } from "react";
import { errorText } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import type { ConsoleRole } from "../api/session.ts";
import { Button } from "./button.tsx";
import { fieldFaults } from "./field-faults.ts";

/** A form under way: its values, what the service said of them, and its sending. */
export interface FormState<Values extends object> {
  readonly values: Values;
  readonly faults: { readonly [field: string]: string };
  /** What went wrong and belongs to no field of the form. */
  readonly summary: string | null;
  readonly busy: boolean;
  readonly isChanged: boolean;
  set<Name extends keyof Values>(name: Name, value: Values[Name]): void;
  reset(values: Values): void;
  submit(): Promise<void>;
}

/**
 * A form of these fields. `send` does the call; what the API says of a field (`details.issues`
 * of its errors) stands at that field, and anything else above the button.
 */
export function useApiForm<Values extends object>(
  initial: Values,
  send: (values: Values) => Promise<unknown>,
  /** The fields that faults stand at, as `prices.0.model`; the values where it is left out. */
  fieldsOf: (values: Values) => readonly string[] = Object.keys,
): FormState<Values> {
  const [base, setBase] = useState(initial);
  const [values, setValues] = useState(initial);
  const [faults, setFaults] = useState<FormState<Values>["faults"]>({});
  const [summary, setSummary] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  async function submit(): Promise<void> {
    setBusy(true);
    setFaults({});
    setSummary(null);
    try {
      await send(values);
      setBase(values);
    } catch (error) {
      const { ofFields, others } = fieldFaults(
        error instanceof ParleyError ? (error.details?.issues ?? []) : [],
        fieldsOf(values),
      );
      setFaults(ofFields);
      const isTold = Object.keys(ofFields).length > 0 && others.length === 0;
      setSummary(isTold ? null : others.length > 0 ? others.join(" ") : errorText(error));
    } finally {
      setBusy(false);
    }
  }
  return {
    values,
    faults,
    summary,
    busy,
    isChanged: JSON.stringify(values) !== JSON.stringify(base),
    set: (name, value) => setValues((before) => ({ ...before, [name]: value })),
    reset: (next) => {
      setBase(next);
      setValues(next);
      setFaults({});
      setSummary(null);
    },
    submit,
  };
}

interface ApiFormProps<Values extends object> {
  readonly form: FormState<Values>;
  /** The name of the button that sends it. */
  readonly action: string;
  /** Further buttons beside it. */
  readonly beside?: ReactNode;
  readonly disabled?: boolean;
  /** The least role that is offered the button; an editor where it is left out. */
  readonly needs?: ConsoleRole;
  readonly children: ReactNode;
}

/** The fields of a form, what is wrong with them, and the button that sends them; who may not send them reads them. */
export function ApiForm<Values extends object>(props: ApiFormProps<Values>) {
  const { form, action, beside, disabled = false, needs = "editor", children } = props;
  const mayAct = useMay(needs);
  function onSubmit(event: FormEvent): void {
    event.preventDefault();
    if (!form.busy) void form.submit();
  }
  return (
    <form className="form" onSubmit={onSubmit} noValidate>
      {mayAct ? (
        children
      ) : (
        <>
          <p className="hint">Only to read: changing it needs the role {needs}.</p>
          <fieldset className="read-only" disabled>
            {children}
          </fieldset>
        </>
      )}
      {form.summary !== null && <p role="alert">{form.summary}</p>}
      {mayAct && (
        <footer>
          <Button type="submit" tone="primary" disabled={form.busy || disabled}>
            {action}
          </Button>
          {beside}
        </footer>
      )}
    </form>
  );
}
