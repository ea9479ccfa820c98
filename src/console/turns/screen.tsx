import { Route, Switch } from "wouter";
import { TurnList } from "./turn-list.tsx";
import { TurnPage } from "./turn-page.tsx";

/** The turns of all agents, and each one's page. */
export default function Turns() {
  return (
    <Switch>
      <Route path="/turns/:turnId">{({ turnId }) => <TurnPage key={turnId} turnId={turnId} />}</Route>
      <Route>
        <TurnList />
      </Route>
    </Switch>
  );
}
