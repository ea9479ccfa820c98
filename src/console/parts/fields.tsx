import { type ReactNode, useId } from "react";
import type { FormState } from "./form.tsx";

/** The names of those values of a form that have this type. */
type NamesOf<Values, Type> = { [Name in keyof Values]-?: Values[Name] extends Type ? Name : never }[keyof Values] &
  string;

interface FieldProps<Values extends object, Type> {
  readonly form: FormState<Values>;
  readonly name: NamesOf<Values, Type>;
  readonly label: string;
  /** A word on what to enter. */
  readonly hint?: ReactNode;
  readonly disabled?: boolean;
}

interface Described {
  readonly id: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string | undefined;
}

interface FieldFrameProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly fault: string | undefined;
  readonly children: (described: Described) => ReactNode;
}

/** A label, a control, a hint, and what the service said of the value; for controls that are not here. */
export function FieldFrame({ label, hint, fault, children }: FieldFrameProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(" ") || undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-invalid": fault !== undefined, "aria-describedby": described })}
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
      {fault !== undefined && (
        <p id={`${id}-fault`} className="fault" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

type TextFieldProps<Values extends object> = FieldProps<Values, string> & {
  readonly type?: "text" | "password" | "url" | "number" | "datetime-local" | "email";
  readonly autoComplete?: string;
  readonly placeholder?: string;
  /** Whether it is a secret: dots stand for what is typed, for people and for programs that read the page to them. */
  readonly masked?: boolean;
};

/** One line of text. */
export function TextField<Values extends object>(props: TextFieldProps<Values>) {
  const { form, name, label, hint, masked = false, ...input } = props;
  return (
    <FieldFrame label={label} hint={hint} fault={form.faults[name]}>
      {(described) => (
        <input
          {...described}
          autoComplete="off"
          {...(masked && { type: "password", spellCheck: false, autoCapitalize: "off" })}
          {...input}
          value={form.values[name] as string}
          onChange={(event) => form.set(name, event.target.value as Values[typeof name])}
        />
      )}
    </FieldFrame>
  );
}

/** Several lines of text, which grow with what is written. */
export function TextAreaField<Values extends object>(
  props: FieldProps<Values, string> & { rows?: number; code?: boolean },
) {
  const { form, name, label, hint, rows = 4, code = false, disabled = false } = props;
  return (
    <FieldFrame label={label} hint={hint} fault={form.faults[name]}>
      {(described) => (
        <textarea
          {...described}
          rows={rows}
          disabled={disabled}
          className={code ? "code" : undefined}
          spellCheck={!code}
          value={form.values[name] as string}
          onChange={(event) => form.set(name, event.target.value as Values[typeof name])}
        />
      )}
    </FieldFrame>
  );
}

/** One of a few values; each is its own label, or `[value, label]`. */
export function SelectField<Values extends object>(
  props: FieldProps<Values, string> & { options: readonly (string | readonly [string, string])[] },
) {
  const { form, name, label, hint, options, disabled = false } = props;
  return (
    <FieldFrame label={label} hint={hint} fault={form.faults[name]}>
      {(described) => (
        <select
          {...described}
          disabled={disabled}
          value={form.values[name] as string}
          onChange={(event) => form.set(name, event.target.value as Values[typeof name])}
        >
          {options.map((option) => {
            const [value, text] = typeof option === "string" ? [option, option] : option;
            return (
              <option key={value} value={value}>
                {text}
              </option>
            );
          })}
        </select>
      )}
    </FieldFrame>
  );
}

/** Yes or no. */
export function CheckField<Values extends object>({ form, name, label, hint, disabled }: FieldProps<Values, boolean>) {
  const id = useId();
  const fault = form.faults[name];
  return (
    <div className="field check">
      <input
        id={id}
        type="checkbox"
        disabled={disabled ?? false}
        checked={form.values[name] as boolean}
        aria-describedby={`${id}-hint`}
        onChange={(event) => form.set(name, event.target.checked as Values[typeof name])}
      />
      <label htmlFor={id}>{label}</label>
      <p id={`${id}-hint`} className={fault === undefined ? "hint" : "fault"}>
        {fault ?? hint}
      </p>
    </div>
  );
}
