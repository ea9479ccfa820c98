import type { Budget } from "parley/client";
import { useState } from "react";
import { Link } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { queryClient } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { toast } from "../parts/toasts.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { When } from "../parts/when.tsx";
import { BudgetControls } from "./budget-controls.tsx";
import { BudgetStatus, useMostUsed } from "./budget-status.tsx";
import { BudgetTabs } from "./budget-tabs.tsx";
import { type BudgetForm, budgetOfForm, budgetText, formOfBudget, unitOf } from "./budget-words.ts";
import { UsedBar } from "./used-bar.tsx";

/** The budgets, how much of each is used, and a form that adds one. */
export function BudgetOverview() {
  // Another page may lead here to make one, for a user.
  const [{ new: begins, userId }] = useFilters("new", "userId");
  const [creating, setCreating] = useState(begins !== undefined);
  const agentName = useAgentName();
  const list = useCursorList<Budget>({
    key: ["budgets"],
    load: async (cursor, signal) => {
      const { data, nextCursor } = await parley.budgets.list({ limit: 50, ...(cursor && { cursor }) }, { signal });
      return { rows: data, nextCursor };
    },
  });
  return (
    <PageFrame
      title="Budgets"
      actionsNeed="admin"
      actions={
        <Button tone="primary" onClick={() => setCreating(true)}>
          New budget
        </Button>
      }
    >
      <BudgetTabs />
      <ListView
        list={list}
        caption="Budgets, the newest first"
        columns={columnsOf(agentName)}
        rowKey={({ id }) => id}
        empty="There is no budget: everybody may use as much as they like. A budget stops turns, tokens or dollars at a limit, for all together, each user or each agent."
      />
      <Dialog title="New budget" open={creating} onOpenChange={setCreating}>
        <NewBudget userId={userId ?? ""} onDone={() => setCreating(false)} />
      </Dialog>
    </PageFrame>
  );
}

function columnsOf(agentName: (id: string) => string): readonly Column<Budget>[] {
  return [
    {
      name: "Name",
      cell: ({ id, name }) => (
        <Link href={`/budgets/${id}`} className="row-link">
          {name}
        </Link>
      ),
    },
    { name: "Limit", cell: budgetText },
    { name: "Most used", cell: (budget) => <MostUsed budget={budget} /> },
    {
      name: "Of",
      cell: ({ agentId, userId }) => (
        <>
          {agentId !== null && <Link href={`/agents/${agentId}`}>{agentName(agentId)}</Link>}{" "}
          {userId !== null && <UserLink userId={userId} />}
          {agentId === null && userId === null && <span className="faint">–</span>}
        </>
      ),
      wideOnly: true,
    },
    { name: "Status", cell: (budget) => <BudgetStatus budget={budget} /> },
  ];
}

/** What the one who used the most of it used, and when it begins anew. */
function MostUsed({ budget }: { readonly budget: Budget }) {
  const most = useMostUsed(budget);
  const unit = unitOf(budget);
  if (most === undefined) return <span className="faint">…</span>;
  return (
    <>
      <UsedBar
        unit={unit}
        used={most?.used ?? 0}
        limit={budget.limit[unit] ?? 0}
        warnAtPercent={budget.warnAtPercent}
      />
      {most?.resetsAt && (
        <span className="block faint">
          resets <When at={most.resetsAt} />
        </span>
      )}
    </>
  );
}

function NewBudget({ userId, onDone }: { readonly userId: string; onDone(): void }) {
  const form = useApiForm<BudgetForm>({ ...formOfBudget(null), name: userId, userId }, async (values) => {
    const made = await parley.budgets.create(budgetOfForm(values));
    await queryClient.invalidateQueries({ queryKey: ["budgets"] });
    toast(`${made.name} is created.`);
    onDone();
  });
  return (
    <ApiForm form={form} action="Create" needs="admin">
      <BudgetControls form={form} />
    </ApiForm>
  );
}
