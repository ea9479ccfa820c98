import type { Fields } from "./notation.ts";

const events =
  "=turn.ended,approval.requested,tool_call.requested,run.ended,delivery.failed,mcp_connection.changed,budget.warned,budget.reached,audit.recorded" as const;
const webhook = {
  id: "wh_",
  url: "text",
  events: `[${events}]`,
  description: "text",
  enabled: "bool",
  agentIds: "[ag_]?",
  disabledReason: "#CopyError?",
  failingSince: "time?",
  previousSecretExpiresAt: "time?",
  createdAt: "time",
  updatedAt: "time",
} as const;

/** What is shown of budgets. */
export const budgetShapes: Readonly<Record<string, Fields>> = {
  ModelPrices: { prices: "[#ModelPrice]" },
  ModelPrice: {
    "providerId?": "prv_",
    model: "text",
    inputUsd: "text",
    outputUsd: "text",
    "cachedInputUsd?": "text",
    "cacheWriteUsd?": "text",
  },
  Budget: {
    id: "bud_",
    name: "text",
    agentId: "ag_?",
    userId: "text?",
    each: "=tenant,user,agent",
    period: "=hour,day,month,ever",
    limit: "#BudgetLimit",
    warnAtPercent: "int?",
    enabled: "bool",
    createdAt: "time",
    updatedAt: "time",
  },
  BudgetLimit: { "turns?": "int", "tokens?": "int", "usd?": "text" },
  BudgetPage: { data: "[#Budget]", nextCursor: "text?" },
  // Money is text, the rest a number.
  BudgetSpending: { userId: "text?", agentId: "ag_?", used: "any", limit: "any", resetsAt: "time?" },
  BudgetSpendingPage: { data: "[#BudgetSpending]", nextCursor: "text?" },
};

/** What is shown of webhooks. */
export const webhookShapes: Readonly<Record<string, Fields>> = {
  Webhook: webhook,
  WebhookPage: { data: "[#Webhook]", nextCursor: "text?" },
  WebhookWithSecret: { ...webhook, secret: "text" },
  WebhookDelivery: {
    id: "whd_",
    webhookId: "wh_",
    type: "text",
    timestamp: "time",
    data: "#WebhookEventData",
    status: "=pending,succeeded,failed",
    attemptCount: "int",
    attempts: "[#WebhookAttempt]",
    nextAttemptAt: "time?",
    finishedAt: "time?",
  },
  WebhookEventData: { ids: "object", status: "text" },
  WebhookAttempt: { at: "time", statusCode: "int?", ms: "int", error: "text?" },
  WebhookDeliveryPage: { data: "[#WebhookDelivery]", nextCursor: "text?" },
};
