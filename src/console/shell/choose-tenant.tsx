import { useEffect } from "react";
import { useLocation } from "wouter";
import { type ConsoleSession, chooseTenant, signOut } from "../api/session.ts";
import { Button } from "../parts/button.tsx";
import { toastError } from "../parts/toasts.tsx";

interface ChoicesProps {
  readonly session: ConsoleSession;
  onChosen?(): void;
}

/** The tenants of a person, and the operator's view where there is one. */
export function TenantChoices({ session, onChosen }: ChoicesProps) {
  const [, go] = useLocation();
  async function choose(tenantId: string | null): Promise<void> {
    await chooseTenant(tenantId);
    // What was open is the other tenant's.
    if (onChosen) go("/");
    onChosen?.();
  }
  return (
    <ul className="choices">
      {session.tenants.map(({ tenantId, name, role }) => (
        <li key={tenantId}>
          <Button onClick={() => void choose(tenantId).catch(toastError)}>{name}</Button> <span>{role}</span>
        </li>
      ))}
      {session.person?.isOperator && (
        <li>
          <Button onClick={() => void choose(null).catch(toastError)}>Operator</Button> <span>of the installation</span>
        </li>
      )}
    </ul>
  );
}

/** Asks a person who has signed in where to work. */
export function ChooseTenantPage({ session }: { readonly session: ConsoleSession }) {
  useEffect(() => {
    document.title = "Choose a tenant · Parley";
  }, []);
  return (
    <main className="lonely">
      <div className="sign-in">
        <h1>Choose a tenant</h1>
        <p>{session.person?.name ?? session.person?.email}</p>
        <TenantChoices session={session} />
        <Button tone="quiet" onClick={() => void signOut().catch(toastError)}>
          Sign out
        </Button>
      </div>
    </main>
  );
}
