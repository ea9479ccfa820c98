import { Route, Switch } from "wouter";
import { ChatOverview } from "./chat-overview.tsx";
import { ChatPage } from "./chat-page.tsx";
import { UnresolvedDeliveries } from "./unresolved-deliveries.tsx";

/** The chat connections of the tenant, what waits for a person in them, and each one's page. */
export default function ChatScreen() {
  return (
    <Switch>
      <Route path="/chat/unresolved">
        <UnresolvedDeliveries />
      </Route>
      <Route path="/chat/:id">{({ id }) => <ChatPage key={id} id={id} />}</Route>
      <Route>
        <ChatOverview />
      </Route>
    </Switch>
  );
}
