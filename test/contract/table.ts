import { access } from "./access.ts";
import { agents } from "./agents.ts";
import { budgets } from "./budgets.ts";
import { chat } from "./chat.ts";
import { mcpConnections, workspaces } from "./connections.ts";
import type { Contract } from "./contract.ts";
import { memories } from "./memories.ts";
import { merchant } from "./merchant.ts";
import { prompts } from "./prompts.ts";
import { responses } from "./responses.ts";
import { sessions } from "./sessions.ts";
import { library, skills } from "./skills.ts";
import { tasks } from "./tasks.ts";
import { webhooks } from "./webhooks.ts";

/** Every operation of the interface. */
export const operations: readonly Contract[] = [
  ...agents,
  ...sessions,
  ...responses,
  ...prompts,
  ...memories,
  ...skills,
  ...library,
  ...access,
  ...mcpConnections,
  ...workspaces,
  ...tasks,
  ...chat,
  ...merchant,
  ...webhooks,
  ...budgets,
];

/** An operation by its method and path. */
export function contractOf(op: string): Contract {
  const found = operations.find((contract) => contract.op === op);
  if (found === undefined) throw new Error(`The table has no ${op}.`);
  return found;
}
