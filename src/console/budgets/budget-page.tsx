import { useQuery } from "@tanstack/react-query";
import type { Budget, BudgetSpending } from "parley/client";
import { Link, useLocation } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { queryClient } from "../api/queries.ts";
import { CopyableId } from "../parts/copyable-id.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { When } from "../parts/when.tsx";
import { BudgetControls } from "./budget-controls.tsx";
import { BudgetStatus } from "./budget-status.tsx";
import { type BudgetForm, budgetOfForm, budgetText, formOfBudget, unitOf } from "./budget-words.ts";
import { UsedBar } from "./used-bar.tsx";

/** One budget: who used how much of it in the period that is now, and its settings. */
export function BudgetPage({ budgetId }: { readonly budgetId: string }) {
  const query = useQuery({
    queryKey: ["budget", budgetId],
    queryFn: ({ signal }) => parley.budgets.get(budgetId, { signal }),
  });
  const budget = query.data;
  return (
    <PageFrame
      title={budget?.name ?? "Budget"}
      parent={{ title: "Budgets", to: "/budgets" }}
      mark={budget && <BudgetStatus budget={budget} />}
      actionsNeed="admin"
      actions={budget && <DeleteBudget budget={budget} />}
    >
      <Await query={query}>
        {(known) => (
          <>
            <Facts
              facts={{
                Allows: budgetText(known),
                Id: <CopyableId id={known.id} />,
                Created: <When at={known.createdAt} />,
                Changed: <When at={known.updatedAt} />,
              }}
            />
            <Section title="Used in this period">
              <Spending budget={known} />
            </Section>
            <Section title="Settings">
              <Settings key={known.updatedAt} budget={known} />
            </Section>
          </>
        )}
      </Await>
    </PageFrame>
  );
}

function Spending({ budget }: { readonly budget: Budget }) {
  const agentName = useAgentName();
  const list = useCursorList<BudgetSpending>({
    key: ["budget-spending", budget.id, budget.updatedAt],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.budgets.getSpending(budget.id, query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: 10_000,
  });
  const unit = unitOf(budget);
  const columns: readonly Column<BudgetSpending>[] = [
    {
      name: "Who",
      cell: ({ userId, agentId }) => {
        if (agentId !== null) return <Link href={`/agents/${agentId}`}>{agentName(agentId)}</Link>;
        const whose = userId ?? budget.userId;
        return whose === null ? "all together" : whose === "" ? "without a user" : <UserLink userId={whose} />;
      },
    },
    {
      name: "Used",
      cell: ({ used, limit }) => <UsedBar unit={unit} used={used} limit={limit} warnAtPercent={budget.warnAtPercent} />,
    },
    {
      name: "Resets",
      cell: ({ resetsAt }) => (resetsAt === null ? <span className="faint">never</span> : <When at={resetsAt} />),
    },
  ];
  return (
    <ListView
      list={list}
      caption="What was used, the largest first"
      columns={columns}
      rowKey={({ userId, agentId }) => `${userId} ${agentId}`}
      empty="Nothing was used yet."
    />
  );
}

function Settings({ budget }: { readonly budget: Budget }) {
  const form = useApiForm<BudgetForm>(formOfBudget(budget), async (values) => {
    await parley.budgets.update(budget.id, budgetOfForm(values));
    await queryClient.invalidateQueries({ queryKey: ["budget", budget.id] });
    await queryClient.invalidateQueries({ queryKey: ["budgets"] });
    toast("The budget is saved.");
  });
  return (
    <ApiForm form={form} action="Save" needs="admin" disabled={!form.isChanged}>
      <BudgetControls form={form} />
    </ApiForm>
  );
}

function DeleteBudget({ budget }: { readonly budget: Budget }) {
  const [, navigate] = useLocation();
  async function remove(): Promise<void> {
    await parley.budgets.delete(budget.id);
    await queryClient.invalidateQueries({ queryKey: ["budgets"] });
    navigate("/budgets", { replace: true });
    toast(`${budget.name} is deleted.`);
  }
  return (
    <ConfirmButton label="Delete" needs="admin" title={`Delete ${budget.name}?`} onConfirm={remove}>
      <p>It stops nothing any more. What was used stays in the usage.</p>
    </ConfirmButton>
  );
}
