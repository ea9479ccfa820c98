import { Tabs } from "../parts/tabs.tsx";

/** Budgets, and what money is counted by. */
export function BudgetTabs() {
  return (
    <Tabs
      label="Budgets and prices"
      tabs={[
        { name: "Budgets", to: "/budgets" },
        { name: "Prices", to: "/budgets/prices" },
      ]}
    />
  );
}
