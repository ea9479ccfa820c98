import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { Router } from "wouter";
import { isSuspended, queryClient } from "../api/queries.ts";
import { useConsoleSession } from "../api/session.ts";
import { Button } from "../parts/button.tsx";
import { LoadFailure, Loading } from "../parts/states.tsx";
import { Toasts } from "../parts/toasts.tsx";
import { ChooseTenantPage } from "./choose-tenant.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { Frame } from "./frame.tsx";
import { SignInPage } from "./sign-in.tsx";

/** The whole page. */
export function ConsoleApp() {
  return (
    <ErrorBoundary>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queryClient}>
          <Router base="/console">
            <Gate />
          </Router>
          <Toasts />
        </QueryClientProvider>
      </CSPProvider>
    </ErrorBoundary>
  );
}

/** Who is not signed in sees the sign-in at whatever address, and after it what is at that address. */
function Gate() {
  const session = useConsoleSession();
  const [isAnother, setAnother] = useState(false);
  if (session.data?.principal.kind === "person") return <ChooseTenantPage session={session.data} />;
  if (session.data) return <Frame session={session.data} />;
  if (session.data === null || isAnother) return <SignInPage />;
  if (isSuspended(session.error))
    return <Suspended onRetry={() => void session.refetch()} onSignIn={() => setAnother(true)} />;
  if (session.error !== null)
    return (
      <main className="lonely">
        <LoadFailure error={session.error} retry={() => void session.refetch()} />
      </main>
    );
  return (
    <main className="lonely">
      <Loading />
    </main>
  );
}

/** Stands in for the whole page while the operator has suspended the tenant. */
function Suspended({ onRetry, onSignIn }: { onRetry(): void; onSignIn(): void }) {
  return (
    <main className="lonely">
      <div className="sign-in">
        <h1>This tenant is suspended</h1>
        <p>
          Everything is refused until the operator of this installation lets it go on. What is stored stays as it is.
        </p>
        <Button tone="primary" onClick={onRetry}>
          Try again
        </Button>
        <Button onClick={onSignIn}>Sign in as somebody else</Button>
      </div>
    </main>
  );
}
