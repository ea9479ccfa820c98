import { Route, Switch } from "wouter";
import { ConnectionOverview } from "./connection-overview.tsx";
import { ConnectionPage } from "./connection-page.tsx";

/** The MCP connections of the tenant, and each one's page. */
export default function McpConnections() {
  return (
    <Switch>
      <Route path="/connections/:id">{({ id }) => <ConnectionPage key={id} id={id} />}</Route>
      <Route>
        <ConnectionOverview />
      </Route>
    </Switch>
  );
}
