/**
 * Who may do what, as docs/roles.md says it in words: a ladder, and a rule for each of its steps. Written from the
 * words, never from the code.
 */
export const ladder = ["reader", "approver", "runner", "editor", "admin"] as const;
export type LadderRole = (typeof ladder)[number];

/** Keys, members, billing, budgets, prices, and all that is done with them. */
const ofAdmins =
  /^\S+ \/v1\/(?:apikeys|budgets|model-prices|members|merchant-connection|merchant-usage-events)(?:\/|$)/;
/** Deciding. */
const ofApprovers = /^POST \S+\/tool-approvals\/:approvalId$/;
/** Turns, sessions and their deletion, runs of tasks, results of client tools, client tokens. */
const ofRunners: readonly RegExp[] = [
  /^(?:POST|PATCH|DELETE) \/v1\/agents\/:agentId\/sessions(?:\/:sessionId(?:\/cancel|\/fork)?)?$/,
  /^POST \/v1\/agents\/:agentId\/generate$/,
  /^POST \S+\/tool-calls\/:toolCallId$/,
  /^POST \/v1\/turns\/(?:cancel|:turnId\/retry)$/,
  /^(?:POST|DELETE) \/v1\/responses(?:\/|$)/,
  /^POST \/v1\/tasks\/:taskId\/runs(?:\/:runId\/cancel)?$/,
  /^(?:POST|DELETE) \/v1\/client-tokens(?:\/|$)/,
];
/** What a reader does not read. */
const ofEditors = /^GET \/v1\/audit-events$/;

/** Returns the least role that may do an operation, by its method and path. */
export function leastRoleOf(op: string): LadderRole {
  if (ofAdmins.test(op)) return "admin";
  if (ofApprovers.test(op)) return "approver";
  if (ofRunners.some((rule) => rule.test(op))) return "runner";
  if (ofEditors.test(op)) return "editor";
  return op.startsWith("GET ") ? "reader" : "editor";
}
