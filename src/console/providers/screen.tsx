import { Route, Switch } from "wouter";
import { ProviderOverview } from "./provider-overview.tsx";
import { ProviderPage } from "./provider-page.tsx";

/** The model providers of the tenant, and each one's page. */
export default function Providers() {
  return (
    <Switch>
      <Route path="/providers/:providerId">
        {({ providerId }) => <ProviderPage key={providerId} providerId={providerId} />}
      </Route>
      <Route>
        <ProviderOverview />
      </Route>
    </Switch>
  );
}
