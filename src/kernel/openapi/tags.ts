import type { OperationId } from "../http/operation.ts";

/** What the operations are grouped under in the document, each by the noun of its operations' ids. */
const descriptions = {
  agents: "Agents, their versions, pictures and MCP attachments, and generation without a session.",
  sessions: "Sessions, their turns and transcripts.",
  turns: "Turns of all agents, wherever they came from, and the steps of each.",
  toolApprovals: "Tool calls that wait for a person, and the continuations of their turns.",
  toolCalls: "Calls of client tools, which the caller runs.",
  responses: "Turns by the Open Responses protocol, which OpenAI's clients speak.",
  models: "Agents as OpenAI's clients list models.",
  memories: "What an agent keeps from one session to the next.",
  skills: "Skills of one agent.",
  skillLibrary: "Skills of the tenant and of the platform.",
  workspaces: "Places of files that agents work in. Form B only.",
  sandboxes: "Workspaces as form A names them. Form A only.",
  prompts: "Templates with variables, for the first message of a turn.",
  providers: "Model vendors, with the tenant's own credentials.",
  mcpConnections: "MCP servers whose tools agents may call.",
  tasks: "Prompts that run by hand or on a schedule.",
  taskRuns: "Runs of a task, each a turn in a session of its own.",
  chatConnections: "Agents that are reached through a chat app.",
  chatDeliveries: "Messages on their way to a chat app.",
  usage: "Tokens, requests and time, summed by day, agent, model, session or user.",
  budgets: "How much a tenant, its users or its agents may use in a period.",
  modelPrices: "What model calls cost, where it is not as the catalogue says.",
  merchantConnection: "The tenant's own billing provider.",
  merchantBindings: "Which end user is which customer of the billing provider.",
  merchantEvents: "Usage on its way to the billing provider.",
  webhooks: "Addresses of the tenant that are told what happened.",
  webhookDeliveries: "Events on their way to a webhook.",
  auditEvents: "Who did what.",
  apiKeys: "Credentials of the tenant.",
  members: "People who sign in to the console, and what each may do.",
  clientTokens: "Credentials of pages without a back end, each for one end user of an agent.",
} as const;

/** The tags of the document. */
export const tags = Object.entries(descriptions).map(([name, description]) => ({ name, description }));

/** The tag of an operation: its noun. Throws an error for a noun that has no description here. */
export function tagOf(id: OperationId): string {
  const noun = id.slice(0, id.indexOf("."));
  if (!Object.hasOwn(descriptions, noun)) throw new Error(`The noun of ${id} has no description.`);
  return noun;
}
