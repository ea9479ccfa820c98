import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { Router } from "wouter";
import { queryClient } from "../api/queries.ts";
import { useConsoleSession } from "../api/session.ts";
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
  if (session.data?.principal.kind === "person") return <ChooseTenantPage session={session.data} />;
  if (session.data) return <Frame session={session.data} />;
  if (session.data === null) return <SignInPage />;
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
