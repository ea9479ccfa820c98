import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useMay } from "../api/role.ts";
import { BudgetStatus } from "../budgets/budget-status.tsx";
import { budgetText } from "../budgets/budget-words.ts";
import { ButtonLink } from "../parts/button.tsx";
import { Section } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";

/** Budgets that are looked at: a tenant has few. */
const budgetsMax = 100;

/** The budgets that are this user's alone, with what is left of them, and the way to a further one; for who may have budgets. */
export function UserBudgets({ userId }: { readonly userId: string }) {
  const isAdmin = useMay("admin");
  const budgets = useQuery({
    queryKey: ["budgets", "of-user", userId],
    queryFn: ({ signal }) => parley.budgets.list({ limit: budgetsMax }, { signal }),
    enabled: isAdmin,
  });
  if (!isAdmin) return null;
  return (
    <Section
      title="Budgets"
      actionsNeed="admin"
      actions={<ButtonLink to={`/budgets?new=1&userId=${encodeURIComponent(userId)}`}>New budget</ButtonLink>}
    >
      <Await query={budgets}>
        {({ data }) => {
          const own = data.filter((budget) => budget.userId === userId);
          if (own.length === 0) return <Empty>No budget is for this user alone.</Empty>;
          return (
            <ul>
              {own.map((budget) => (
                <li key={budget.id}>
                  <Link href={`/budgets/${budget.id}`}>{budget.name}</Link>{" "}
                  <span className="faint">{budgetText(budget)}</span> <BudgetStatus budget={budget} />
                </li>
              ))}
            </ul>
          );
        }}
      </Await>
    </Section>
  );
}
