import type { ReactNode } from "react";
import { Route, Switch } from "wouter";
import { PageFrame } from "../parts/page.tsx";
import { type Tab, Tabs } from "../parts/tabs.tsx";
import { DeadLetterList } from "./dead-letter-list.tsx";
import { HealthPage } from "./health-page.tsx";
import { QueueView } from "./queue-view.tsx";
import { AddTenant, TenantList } from "./tenant-list.tsx";
import { TenantStatePage } from "./tenant-state-page.tsx";
import { WorkerView } from "./worker-view.tsx";

const tabs: readonly Tab[] = [
  { name: "Health", to: "/operator" },
  { name: "Queue", to: "/operator/queue" },
  { name: "Workers", to: "/operator/workers" },
  { name: "Dead letters", to: "/operator/dead-letters" },
  { name: "Tenants", to: "/operator/tenants" },
];

/** The installation: what waits, who runs it, what broke, and for whom. */
export default function OperatorScreen() {
  return (
    <Switch>
      <Route path="/operator/tenants/:tenantId">
        {({ tenantId }) => <TenantStatePage key={tenantId} tenantId={tenantId} />}
      </Route>
      <Route path="/operator/workers">{inTabs(<WorkerView />)}</Route>
      <Route path="/operator/dead-letters">{inTabs(<DeadLetterList />)}</Route>
      <Route path="/operator/tenants">{inTabs(<TenantList />, <AddTenant />)}</Route>
      <Route path="/operator/queue">{inTabs(<QueueView />)}</Route>
      <Route>{inTabs(<HealthPage />)}</Route>
    </Switch>
  );
}

function inTabs(content: ReactNode, actions?: ReactNode) {
  return (
    <PageFrame title="Operator" actions={actions}>
      <Tabs label="Parts of the installation" tabs={tabs} />
      {content}
    </PageFrame>
  );
}
