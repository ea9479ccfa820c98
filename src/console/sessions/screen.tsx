import { Route, Switch } from "wouter";
import { SessionList } from "./session-list.tsx";
import { SessionPage } from "./session-page.tsx";

/** The sessions of all agents, and each one's page. */
export default function Sessions() {
  return (
    <Switch>
      <Route path="/sessions/:agentId/:sessionId">
        {({ agentId, sessionId }) => <SessionPage key={sessionId} agentId={agentId} sessionId={sessionId} />}
      </Route>
      <Route>
        <SessionList />
      </Route>
    </Switch>
  );
}
