import { type Caller, idOf, nothing } from "./caller.ts";
import {
  budgetBody,
  customerPath,
  merchantBody,
  newBinding,
  newBudget,
  newChat,
  newCustomer,
  newDelivery,
  newEvent,
  newMerchant,
  newWebhook,
  newWebhookDelivery,
  roomForChats,
  roomForWebhooks,
  slackBody,
  theBudget,
  theChat,
  theWebhook,
  webhookBody,
} from "./outside.ts";
import { freshName } from "./scene.ts";

const ofTask = idOf("taskId", (s) => s.theTask());
const ofRun: Caller = async (s) => ({ params: { ...(await s.theRun()) } });
const event =
  (fields: Record<string, unknown>): Caller =>
  async (s) => ({ params: { id: await newEvent(s, fields) } });

const tasks: Record<string, Caller> = {
  "GET /v1/tasks": async (s) => {
    await s.theRun();
    return {};
  },
  "POST /v1/tasks": async (s) => ({ body: { agentId: await s.theAgent(), name: "n", prompt: "p" } }),
  "GET /v1/tasks/:taskId": ofTask,
  "PATCH /v1/tasks/:taskId": async (s) => ({ params: { taskId: await s.newTask() }, body: { prompt: "p2" } }),
  "DELETE /v1/tasks/:taskId": idOf("taskId", (s) => s.newTask()),
  "GET /v1/tasks/:taskId/runs": async (s) => ({ params: { taskId: (await s.theRun()).taskId } }),
  "POST /v1/tasks/:taskId/runs": async (s) => ({ params: { taskId: await s.newTask() }, body: {} }),
  "GET /v1/tasks/:taskId/runs/:runId": ofRun,
  "GET /v1/tasks/:taskId/runs/:runId/messages": ofRun,
  "POST /v1/tasks/:taskId/runs/:runId/cancel": ofRun,
};

const chat: Record<string, Caller> = {
  "GET /v1/chat-connections": async (s) => {
    await theChat(s);
    return {};
  },
  "POST /v1/chat-connections": async (s) => {
    await roomForChats(s);
    return { body: await slackBody(s) };
  },
  "GET /v1/chat-connections/:id": idOf("id", theChat),
  "PATCH /v1/chat-connections/:id": async (s) => ({
    params: { id: await theChat(s) },
    body: { name: freshName() },
  }),
  "DELETE /v1/chat-connections/:id": idOf("id", newChat),
  "POST /v1/chat-connections/:id/enable": idOf("id", async (s) => {
    const id = await newChat(s);
    await s.parley.chatConnections.disable(id);
    return id;
  }),
  "POST /v1/chat-connections/:id/disable": idOf("id", newChat),
  "POST /v1/chat-connections/:id/check": idOf("id", theChat),
  "GET /v1/chat-connections/:id/deliveries": async (s) => ({ params: { id: (await newDelivery(s)).id } }),
  "POST /v1/chat-connections/:id/deliveries/:deliveryId/repair": async (s) => ({
    params: await newDelivery(s),
    body: { expectedAttempt: 0, previousSenderStopped: true, acceptDuplicateRisk: true },
  }),
  "GET /v1/chat-deliveries": async (s) => {
    await newDelivery(s);
    return {};
  },
};

const events = "/v1/merchant-usage-events";
const merchant: Record<string, Caller> = {
  "GET /v1/merchant-connection": async (s) => {
    await newMerchant(s);
    return {};
  },
  "POST /v1/merchant-connection": async (s) => ({ body: await merchantBody(s) }),
  "PATCH /v1/merchant-connection": async (s) => {
    await newMerchant(s);
    return { body: { guard: { enabled: false, productIds: ["prod-1"], meterId: null } } };
  },
  "DELETE /v1/merchant-connection": async (s) => {
    await newMerchant(s);
    return {};
  },
  "GET /v1/merchant-connection/bindings": async (s) => {
    await newBinding(s);
    return {};
  },
  [`PUT ${customerPath(":userId")}`]: async (s) => {
    const userId = await newBinding(s);
    return { params: { userId }, body: { customerId: await newCustomer(s) } };
  },
  [`DELETE ${customerPath(":userId")}`]: idOf("userId", (s) => newBinding(s)),
  [`GET ${events}`]: async (s) => {
    for (const status of ["failed", "accepted", "unmapped"]) await newEvent(s, { status });
    return {};
  },
  [`GET ${events}/summary`]: async (s) => {
    await newEvent(s, { status: "accepted", accepted_at: new Date() });
    return {};
  },
  [`POST ${events}/:id/retry`]: event({ status: "failed" }),
  [`POST ${events}/:id/release`]: async (s) => ({
    params: { id: await newEvent(s, { status: "unmapped", customer_id: null, user_id: await newBinding(s) }) },
  }),
  [`POST ${events}/:id/discard`]: event({ status: "failed" }),
};

const hook = "/v1/webhooks/:id";
const webhooks: Record<string, Caller> = {
  "GET /v1/webhooks": async (s) => {
    await theWebhook(s);
    return {};
  },
  "POST /v1/webhooks": async (s) => {
    await roomForWebhooks(s);
    return { body: webhookBody(s) };
  },
  [`GET ${hook}`]: idOf("id", theWebhook),
  "GET /v1/agents/:agentId/saved-questions": idOf("agentId", (s) => s.theAgent()),
  "PUT /v1/agents/:agentId/saved-questions": async (s) => ({
    params: { agentId: await s.theAgent() },
    body: { questions: [freshName()] },
  }),
  "GET /v1/model-prices": nothing,
  "PUT /v1/model-prices": async (s) => ({
    body: {
      prices: [
        {
          providerId: await s.theProvider(),
          model: freshName(),
          inputUsd: "0.25",
          outputUsd: 2,
          cachedInputUsd: 0.025,
        },
      ],
    },
  }),
  [`PATCH ${hook}`]: async (s) => ({ params: { id: await theWebhook(s) }, body: { description: freshName() } }),
  [`DELETE ${hook}`]: idOf("id", newWebhook),
  [`POST ${hook}/rotate-secret`]: idOf("id", theWebhook),
  [`POST ${hook}/test`]: idOf("id", theWebhook),
  [`GET ${hook}/deliveries`]: async (s) => ({ params: { id: (await newWebhookDelivery(s)).id } }),
  [`POST ${hook}/deliveries/:deliveryId/retry`]: async (s) => ({ params: await newWebhookDelivery(s) }),
};

const budget = "/v1/budgets/:budgetId";
const budgets: Record<string, Caller> = {
  "GET /v1/budgets": async (s) => {
    await theBudget(s);
    return {};
  },
  "POST /v1/budgets": () => ({ body: { ...budgetBody(), userId: "anna", each: "user", warnAtPercent: 80 } }),
  [`GET ${budget}`]: idOf("budgetId", theBudget),
  [`PATCH ${budget}`]: async (s) => ({ params: { budgetId: await theBudget(s) }, body: { name: freshName() } }),
  [`DELETE ${budget}`]: idOf("budgetId", newBudget),
  [`GET ${budget}/spending`]: idOf("budgetId", theBudget),
};

/** How operations of tasks, chat, billing, webhooks and budgets are called so that they succeed. */
export const outsideCalls: Readonly<Record<string, Caller>> = {
  ...tasks,
  ...chat,
  ...merchant,
  ...webhooks,
  ...budgets,
};
