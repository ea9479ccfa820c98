import { Route, Switch } from "wouter";
import { WebhookOverview } from "./webhook-overview.tsx";
import { WebhookPage } from "./webhook-page.tsx";

/** The webhooks of the tenant, and each one's page with its deliveries. */
export default function Webhooks() {
  return (
    <Switch>
      <Route path="/webhooks/:webhookId">
        {({ webhookId }) => <WebhookPage key={webhookId} webhookId={webhookId} />}
      </Route>
      <Route>
        <WebhookOverview />
      </Route>
    </Switch>
  );
}
