import type { ComponentType } from "react";
import type { ConsoleRole } from "./api/session.ts";

/** What the module of a screen exports: the screen, for its address and all below it. */
export interface ScreenModule {
  readonly default: ComponentType;
}

/** One screen: its name in the navigation, its address below `/console`, and the two keys that lead there. */
export interface Screen {
  readonly name: string;
  readonly path: string;
  readonly keys: string;
  /** The least role that it is shown to; everybody where it is left out. */
  readonly needs?: ConsoleRole;
  /** Null until the screen is there: then no link leads to it. */
  readonly load: (() => Promise<ScreenModule>) | null;
}

/** A group of the navigation. */
export interface ScreenGroup {
  readonly title: string;
  readonly screens: readonly Screen[];
}

/** What a tenant sees. */
export const tenantScreens: readonly ScreenGroup[] = [
  {
    title: "Now",
    screens: [
      { name: "Overview", path: "/", keys: "go", load: () => import("./overview/screen.tsx") },
      {
        name: "Playground",
        path: "/playground",
        keys: "gp",
        needs: "runner",
        load: () => import("./playground/screen.tsx"),
      },
      { name: "Approvals", path: "/approvals", keys: "ga", load: () => import("./approvals/screen.tsx") },
    ],
  },
  {
    title: "History",
    screens: [
      { name: "Sessions", path: "/sessions", keys: "gs", load: () => import("./sessions/screen.tsx") },
      { name: "Turns", path: "/turns", keys: "gt", load: () => import("./turns/screen.tsx") },
      { name: "Users", path: "/users", keys: "gi", load: () => import("./users/screen.tsx") },
      { name: "Usage", path: "/usage", keys: "gu", load: () => import("./usage/screen.tsx") },
      { name: "Audit", path: "/audit", keys: "gh", needs: "editor", load: () => import("./audit/screen.tsx") },
    ],
  },
  {
    title: "Build",
    screens: [
      { name: "Agents", path: "/agents", keys: "ge", load: () => import("./agents/screen.tsx") },
      { name: "Tasks", path: "/tasks", keys: "gk", load: () => import("./tasks/screen.tsx") },
      { name: "Prompts", path: "/prompts", keys: "gr", load: () => import("./prompts/screen.tsx") },
      { name: "Skills", path: "/skills", keys: "gl", load: () => import("./skills/screen.tsx") },
      { name: "Memory", path: "/memory", keys: "gm", load: () => import("./memory/screen.tsx") },
      { name: "Workspaces", path: "/workspaces", keys: "gf", load: () => import("./workspaces/screen.tsx") },
    ],
  },
  {
    title: "Connect",
    screens: [
      { name: "Chat", path: "/chat", keys: "gc", load: () => import("./chat/screen.tsx") },
      { name: "Connections", path: "/connections", keys: "gn", load: () => import("./connections/screen.tsx") },
      { name: "Webhooks", path: "/webhooks", keys: "gw", load: () => import("./webhooks/screen.tsx") },
      { name: "Providers", path: "/providers", keys: "gv", load: () => import("./providers/screen.tsx") },
    ],
  },
  {
    title: "Manage",
    screens: [
      { name: "Budgets", path: "/budgets", keys: "gd", needs: "admin", load: () => import("./budgets/screen.tsx") },
      { name: "Billing", path: "/billing", keys: "gb", needs: "admin", load: () => import("./billing/screen.tsx") },
      { name: "Members", path: "/members", keys: "gj", needs: "admin", load: () => import("./members/screen.tsx") },
      { name: "Keys", path: "/keys", keys: "gy", needs: "admin", load: () => import("./keys/screen.tsx") },
    ],
  },
];

/** What the operator of the installation sees. */
export const operatorScreens: readonly ScreenGroup[] = [
  {
    title: "Installation",
    screens: [{ name: "Operator", path: "/operator", keys: "go", load: () => import("./operator/screen.tsx") }],
  },
];
