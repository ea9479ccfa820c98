import type { Agent, Parley } from "parley/client";
import type { SlackServer } from "../servers/slack.ts";

/** What people ask in the pictures. */
const questions = [
  "Where is my parcel? The number is 4711.",
  "靴はいつ届きますか？",
  "Wo ist mein Paket?",
  "Can I change the address of my order?",
  "How do I return a pair of shoes that are too small?",
  "Please summarise last week's complaints in three sentences.",
  "Which of our shops are open on Sunday?",
  "Write a short, friendly answer to this review: the box came late.",
];

/** Fills an installation with what a small company would have in it, and returns the addresses of the screens to show. */
export async function inventData(
  parley: Parley,
  slack: SlackServer,
  modelUrl: string,
): Promise<Record<string, string>> {
  const vendor = { name: "Acme AI", providerType: "custom" as const, baseUrl: modelUrl, apiKey: "sk-acme-4711" };
  const about = { providerId: (await parley.providers.create(vendor)).id, model: "acme-large-2" };
  const support = await parley.agents.create({
    ...{ ...about, name: "Support", instructions: "You help customers of a shoe shop.\nBe brief and kind." },
    tools: ["memory", "workspace"],
    clientTools: [{ name: "locate", description: "Where the customer is.", inputSchema: { type: "object" } }],
    approvalInChat: { default: "full", overrides: [{ tool: "memory_save", mcpConnectionId: null, mode: "manual" }] },
  });
  await parley.agents.update(support.id, {
    instructions: "You help customers of a shoe shop.\nBe brief and kind.\nNever promise a date.",
  });
  await parley.agents.create({ ...about, name: "Release notes", instructions: "Write release notes from commits." });
  const complaints = await parley.agents.create({ ...about, name: "Complaints", tools: ["write_todos"] });
  await inventMoney(parley, support);
  const turn = (text: string, userId: string) => ({
    ...{ userId, stream: false as const },
    message: { id: crypto.randomUUID(), role: "user" as const, parts: [{ type: "text" as const, text }] },
  });
  for (const [at, question] of questions.entries())
    await parley.sessions.create(at % 3 === 2 ? complaints.id : support.id, turn(question, `customer-${at % 4}`));
  await parley.sessions.create(support.id, turn("Please remember that I wear size 42.", "customer-2"));
  await parley.sessions.create(support.id, turn("Which shop is near?", "customer-3"));
  await parley.sessions.create(support.id, turn("Look up my order.", "customer-0"));
  const { data: begun } = await parley.sessions.list(support.id, { userId: "customer-0", limit: 1 });
  const sessionId = begun[0]?.id ?? "";
  // A question failed, and the talk went on.
  for (const text of ["What do you think of the whole catalogue?", "أين طردي؟ الرقم هو 4711."]) {
    const { userId: _, ...further } = turn(text, "");
    await parley.sessions.resume(support.id, sessionId, further).catch(() => {});
  }
  await inventRest(parley, slack, support);
  const turns = await parley.turns.list({ sessionId, status: "succeeded", limit: 2 });
  const tasks = await parley.tasks.list({ limit: 1 });
  const failed = await parley.turns.list({ status: "failed", limit: 1 });
  return {
    ...{ overview: "/", playground: `/playground?agent=${support.id}&session=${sessionId}`, approvals: "/approvals" },
    ...{ sessions: "/sessions", session: `/sessions/${support.id}/${sessionId}`, turns: "/turns" },
    ...{ turn: `/turns/${turns.data.at(-1)?.id}`, usage: "/usage", audit: "/audit", agents: "/agents" },
    ...{ agent: `/agents/${support.id}`, tasks: "/tasks", task: `/tasks/${tasks.data[0]?.id}`, skills: "/skills" },
    ...{ memory: `/memory?agentId=${support.id}`, chat: "/chat", connections: "/connections" },
    ...{ "turn-failed": `/turns/${failed.data[0]?.id}`, users: "/users", user: "/users?id=customer-0" },
    ...{ budgets: "/budgets", prices: "/budgets/prices", prompts: "/prompts", members: "/members" },
    ...{ webhooks: "/webhooks", providers: "/providers", billing: "/billing", keys: "/keys" },
  };
}

async function inventRest(parley: Parley, slack: SlackServer, { id: agentId }: Agent): Promise<void> {
  for (const [text, userId] of [
    ["Wears size 42.", "customer-2"],
    ["Prefers to be written to in the morning.", "customer-0"],
    ["Shops close at 18:00 on Saturday.", ""],
  ] as const)
    await parley.memories.create(agentId, { text, ...(userId !== "" && { userId }) });
  const content =
    "---\nname: returns\ndescription: How a return works, when a customer asks for it.\n---\nAsk for the order's number.\n";
  await parley.skills.create(agentId, { path: "SKILL.md", content });
  await parley.tasks.create({
    ...{ agentId, name: "Morning report", prompt: "Summarise what customers asked yesterday.", submit: true },
    schedule: { kind: "cron", config: { expression: "0 8 * * MON-FRI", timezone: "Europe/Berlin" } },
  });
  await parley.tasks.create({
    ...{ agentId, name: "Watch the queue", prompt: "Is anybody waiting for more than an hour?" },
    schedule: { kind: "interval", config: { everyMs: 3_600_000 } },
  });
  await parley.webhooks.create({
    ...{ url: "https://shop.example/parley", description: "Web shop", enabled: false },
    events: ["turn.ended", "approval.requested"],
  });
  await parley.apiKeys.create({ name: "web shop" });
  await parley.apiKeys.create({ name: "staging" });
  const bot = slack.install();
  const credentials = { botToken: bot.token, signingSecret: bot.signingSecret };
  await parley.chatConnections.create({ name: "Support in Slack", agentId, platform: "slack", credentials });
}

/** What a team does about money and people. */
async function inventMoney(parley: Parley, { id: agentId, model }: Agent): Promise<void> {
  await parley.modelPrices.replace({
    prices: [{ model: model ?? "", inputUsd: "2.50", outputUsd: "10", cachedInputUsd: "0.25" }],
  });
  await parley.budgets.create({ name: "All of us", period: "month", limit: { usd: "500" }, warnAtPercent: 80 });
  await parley.budgets.create({
    name: "Each customer",
    each: "user",
    period: "day",
    limit: { turns: 4 },
    warnAtPercent: 50,
  });
  await parley.budgets.create({ name: "Support's tokens", agentId, period: "hour", limit: { tokens: 200_000 } });
  await parley.prompts.create({ name: "greeting", template: "Greet {{name}} in {{language}}, in one sentence." });
  for (const [email, role] of [
    ["mara@shoes.example", "admin"],
    ["ade@shoes.example", "approver"],
    ["jun@shoes.example", "reader"],
  ] as const)
    await parley.members.create({ email, role });
}
