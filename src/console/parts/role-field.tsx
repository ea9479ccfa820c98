import { consoleRoles, roleWords } from "../api/role.ts";
import type { ConsoleRole } from "../api/session.ts";
import { SelectField } from "./fields.tsx";
import type { FormState } from "./form.tsx";

interface RoleFieldProps<Values extends { readonly role: ConsoleRole }> {
  readonly form: FormState<Values>;
  /** A further word on it. */
  readonly hint?: string;
}

/** A choice of a role, with a line on what each of them may. */
export function RoleField<Values extends { readonly role: ConsoleRole }>({ form, hint }: RoleFieldProps<Values>) {
  const lines = consoleRoles.map((role) => (
    <span key={role} className={role === form.values.role ? "block chosen-line" : "block"}>
      <b>{role}</b> {roleWords[role]}
    </span>
  ));
  return (
    <SelectField
      // What holds a role holds it under this name.
      form={form as unknown as FormState<{ role: string }>}
      name="role"
      label="Role"
      options={consoleRoles}
      hint={
        <>
          {lines}
          {hint}
        </>
      }
    />
  );
}
