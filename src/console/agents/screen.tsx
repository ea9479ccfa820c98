import { Route, Switch } from "wouter";
import { AgentOverview } from "./agent-overview.tsx";
import { AgentPage } from "./agent-page.tsx";
import { NewAgentPage } from "./new-agent.tsx";

/** The agents of the tenant, each one's page, and the page that makes one. */
export default function Agents() {
  return (
    <Switch>
      <Route path="/agents/new">
        <NewAgentPage />
      </Route>
      <Route path="/agents/:agentId/:part?">
        {({ agentId, part = "" }) => <AgentPage key={agentId} agentId={agentId} part={part} />}
      </Route>
      <Route>
        <AgentOverview />
      </Route>
    </Switch>
  );
}
