import { SelectField, TextField } from "../parts/fields.tsx";
import type { FormState } from "../parts/form.tsx";
import { authTypeChoices, type TargetForm } from "./connection-words.ts";

/** The form of a server's address and the credentials for it, without a value. */
export const emptyTarget: TargetForm = {
  ...{ url: "", authType: "none", bearerToken: "" },
  ...{ clientId: "", clientSecret: "", scope: "" },
};

/** Where the server is, and the fields of the chosen way to authenticate. */
export function TargetSettings<Form extends TargetForm>({ form: given }: { readonly form: FormState<Form> }) {
  const form = given as unknown as FormState<TargetForm>;
  const { authType } = form.values;
  const isPerson = authType === "oauth_authorization_code";
  return (
    <>
      <TextField form={form} name="url" label="URL" type="url" placeholder="https://mcp.example.org/mcp" />
      <SelectField form={form} name="authType" label="Authentication" options={authTypeChoices} />
      {authType === "bearer" && (
        <TextField
          form={form}
          name="bearerToken"
          label="Token"
          masked
          hint="It is stored sealed, and never shown again."
        />
      )}
      {authType.startsWith("oauth") && (
        <>
          <TextField
            form={form}
            name="clientId"
            label="Client id"
            hint={isPerson ? "Empty: this service registers itself at the authorization server." : undefined}
          />
          <TextField
            form={form}
            name="clientSecret"
            label="Client secret"
            masked
            hint="It is stored sealed, and never shown again."
          />
          <TextField form={form} name="scope" label="Scope" hint="Empty: what the server asks for." />
        </>
      )}
    </>
  );
}
