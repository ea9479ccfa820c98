import { ParleyError } from "parley/client";
import { useEffect } from "react";
import { useIdentityProvider } from "../api/identity-provider.ts";
import { linkIsUsed, signIn, signInFault } from "../api/session.ts";
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
        {linkIsUsed && (
          <p className="notice" role="alert">
            This link was used before, or is older than ten minutes. The API key that stands beside it signs in too.
          </p>
        )}
        <ByProvider />
        <ApiForm form={form} action="Sign in" disabled={form.values.apiKey.trim() === ""}>
          <TextField
            form={form}
            name="apiKey"
            label="API key"
            masked
            hint={
              <>
                <code>npm start</code> prints one. A dashboard token is taken too; an operator enters what the service
                has as <code>OPERATOR_TOKEN</code>. It is not kept in this browser.
              </>
            }
          />
        </ApiForm>
      </div>
    </main>
  );
}

/** The button of the identity provider, where there is one, and why it led back here. */
function ByProvider() {
  const { data } = useIdentityProvider();
  if (!data?.provider) return null;
  const { name, startUrl } = data.provider;
  const { pathname, search } = window.location;
  return (
    <>
      {signInFault !== null && (
        <p className="notice" role="alert">
          {faults[signInFault] ?? faults.unauthorized}
        </p>
      )}
      <p>
        <a className="button primary" href={`${startUrl}?to=${encodeURIComponent(pathname + search)}`}>
          Sign in with {name}
        </a>
      </p>
    </>
  );
}

const faults: { readonly [reason: string]: string } = {
  unauthorized: "The sign-in could not be finished. Begin it again.",
  sign_in_refused:
    "Your account has no access here. Its address has to be verified, and an admin of your team has to invite it; an invitation ends after some days.",
  service_unavailable: "The identity provider cannot be reached. Try again in a moment.",
};

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
