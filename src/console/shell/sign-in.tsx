import { useEffect } from "react";
import { signIn } from "../api/session.ts";
import { TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";

/** Asks for a credential. */
export function SignInPage() {
  useEffect(() => {
    document.title = "Sign in · Parley";
  }, []);
  const form = useApiForm({ apiKey: "" }, ({ apiKey }) => signIn(apiKey.trim()));
  return (
    <main className="lonely">
      <h1>Parley</h1>
      <ApiForm form={form} action="Sign in" disabled={form.values.apiKey.trim() === ""}>
        <TextField
          form={form}
          name="apiKey"
          label="API key"
          type="password"
          autoComplete="current-password"
          hint="An API key, a dashboard token, or the operator's token. It is not kept in this browser."
        />
      </ApiForm>
    </main>
  );
}
