import type { ReactNode } from "react";
import { Route, Switch } from "wouter";
import { PageFrame } from "../parts/page.tsx";
import { type Tab, Tabs } from "../parts/tabs.tsx";
import { BillingSummary } from "./billing-summary.tsx";
import { BindingList } from "./binding-list.tsx";
import { EventList } from "./event-list.tsx";
import { MerchantSettings } from "./merchant-settings.tsx";

const tabs: readonly Tab[] = [
  { name: "Summary", to: "/billing" },
  { name: "Events", to: "/billing/events" },
  { name: "Bindings", to: "/billing/bindings" },
  { name: "Account", to: "/billing/provider" },
];

/** How the tenant bills its own end users: what was reported, to whom, and to which provider. */
export default function Billing() {
  return (
    <Switch>
      <Route path="/billing/events">{inTabs(<EventList />)}</Route>
      <Route path="/billing/bindings">{inTabs(<BindingList />)}</Route>
      <Route path="/billing/provider">{inTabs(<MerchantSettings />)}</Route>
      <Route>{inTabs(<BillingSummary />)}</Route>
    </Switch>
  );
}

function inTabs(content: ReactNode) {
  return (
    <PageFrame title="Billing">
      <Tabs label="Parts of billing" tabs={tabs} />
      {content}
    </PageFrame>
  );
}
