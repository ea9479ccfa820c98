import { Route, Switch } from "wouter";
import { BudgetOverview } from "./budget-overview.tsx";
import { BudgetPage } from "./budget-page.tsx";
import { PricesPage } from "./prices-page.tsx";

/** What may be used in a period, each budget's page, and own prices. */
export default function Budgets() {
  return (
    <Switch>
      <Route path="/budgets/prices">
        <PricesPage />
      </Route>
      <Route path="/budgets/:budgetId">{({ budgetId }) => <BudgetPage key={budgetId} budgetId={budgetId} />}</Route>
      <Route>
        <BudgetOverview />
      </Route>
    </Switch>
  );
}
