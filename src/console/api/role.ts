import { type ConsoleRole, useConsoleSession } from "./session.ts";

/** The roles from the least; each may do all that those before it may (docs/roles.md). */
export const consoleRoles: readonly ConsoleRole[] = ["reader", "approver", "runner", "editor", "admin"];

/** What each role adds to those before it, in a line. */
export const roleWords: { readonly [Role in ConsoleRole]: string } = {
  reader: "reads agents, sessions, turns and usage, and no credential",
  approver: "also decides approvals",
  runner: "also runs turns, which is what a program needs that talks to agents",
  editor: "also changes agents, tools, providers, webhooks; reads the audit events",
  admin: "also has keys, members, budgets, prices and billing",
};

/** Returns whether a role may do what needs another one. */
export function isAtLeast(role: ConsoleRole, needs: ConsoleRole): boolean {
  return consoleRoles.indexOf(role) >= consoleRoles.indexOf(needs);
}

/** Returns whether who is signed in may do what needs this role. What is not offered the service refuses too. */
export function useMay(needs: ConsoleRole): boolean {
  const principal = useConsoleSession().data?.principal;
  return principal?.kind !== "tenant" || isAtLeast(principal.role, needs);
}
