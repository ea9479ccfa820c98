import { ParleyError } from "parley/client";
import { useEffect } from "react";
import { signIn } from "../api/session.ts";
import { TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";

/** Asks for a credential. */
export function SignInPage() {
  useEffect(() => {
    document.title = "Sign in · Parley";
    document.querySelector<HTMLInputElement>("main input")?.focus();
  }, []);
  const form = useApiForm({ apiKey: "" }, ({ apiKey }) => enter(apiKey.trim()));
  return (
    <main className="lonely">
      <div className="sign-in">
        <h1>Parley</h1>
        <ApiForm form={form} action="Sign in" disabled={form.values.apiKey.trim() === ""}>
          <TextField
            form={form}
            name="apiKey"
            label="API key"
            masked
            hint={
              <>
                Or a dashboard token. An operator enters what the service has as <code>OPERATOR_TOKEN</code>. It is not
                kept in this browser.
              </>
            }
          />
        </ApiForm>
      </div>
    </main>
  );
}

/** What the API says of a wrong credential is meant for programs. */
async function enter(apiKey: string): Promise<void> {
  try {
    await signIn(apiKey);
  } catch (error) {
    if (error instanceof ParleyError && error.status === 401)
      throw new Error("This key is not valid, or not valid any more.", { cause: error });
    throw error;
  }
}
