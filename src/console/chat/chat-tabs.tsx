import { Tabs } from "../parts/tabs.tsx";

/** The two lists of the screen. */
export function ChatTabs() {
  const tabs = [
    { name: "All connections", to: "/chat" },
    { name: "Deliveries to repair", to: "/chat/unresolved" },
  ];
  return <Tabs label="Lists" tabs={tabs} />;
}
