import { Tabs } from "../parts/tabs.tsx";

/** The two lists of the screen. */
export function ChatTabs() {
  const tabs = [
    { name: "Bots", to: "/chat" },
    { name: "To repair", to: "/chat/unresolved" },
  ];
  return <Tabs label="Lists" tabs={tabs} />;
}
