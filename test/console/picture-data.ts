import type { Agent, Parley } from "parley/client";
import type { SlackServer } from "../servers/slack.ts";

/** What people ask in the pictures. */
const questions = [
  "Where is my parcel? The number is 4711.",
  "Can I change the address of my order?",
  "How do I return a pair of shoes that are too small?",
  "Please summarise last week's complaints in three sentences.",
  "Which of our shops are open on Sunday?",
  "Write a short, friendly answer to this review: the box came late.",
];

/** Fills an installation with what a small company would have in it, and returns the addresses of the screens to show. */
export async function inventData(parley: Parley, slack: SlackServer): Promise<Record<string, string>> {
  const { agents } = await parley.agents.list();
  const demo = agents[0] as Agent;
  const about = { providerId: demo.providerId, model: demo.model };
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
  await parley.agents.create({ ...about, name: "Complaints", tools: ["write_todos"] });
  const turn = (text: string, userId: string) => ({
    ...{ userId, stream: false as const },
    message: { id: crypto.randomUUID(), role: "user" as const, parts: [{ type: "text" as const, text }] },
  });
  for (const [at, question] of questions.entries())
    await parley.sessions.create(at % 3 === 2 ? demo.id : support.id, turn(question, `customer-${at % 4}`));
  await parley.sessions.create(support.id, turn("[[sim: fail=500]]", "customer-1")).catch(() => {});
  const asks =
    'Please remember that I wear size 42. [[sim: tool=memory_save args={"text":"Wears size 42."} ; text="Noted."]]';
  await parley.sessions.create(support.id, turn(asks, "customer-2"));
  await parley.sessions.create(
    support.id,
    turn('Which shop is near? [[sim: tool=locate args={} ; text="Ah."]]', "customer-3"),
  );
  const tools =
    'Look up my order. [[sim: tool=memory_search args={"query":"order"} ; text="It left our store this morning."]]';
  await parley.sessions.create(support.id, turn(tools, "customer-0"));
  await inventRest(parley, slack, support);
  const { data } = await parley.sessions.list(support.id, { userId: "customer-0", limit: 1 });
  const turns = await parley.turns.list({ sessionId: data[0]?.id ?? "", limit: 1 });
  const tasks = await parley.tasks.list({ limit: 1 });
  return {
    ...{ overview: "/", playground: `/playground?agent=${support.id}&session=${data[0]?.id}`, approvals: "/approvals" },
    ...{ sessions: "/sessions", session: `/sessions/${support.id}/${data[0]?.id}`, turns: "/turns" },
    ...{ turn: `/turns/${turns.data[0]?.id}`, usage: "/usage", audit: "/audit", agents: "/agents" },
    ...{ agent: `/agents/${support.id}`, tasks: "/tasks", task: `/tasks/${tasks.data[0]?.id}`, skills: "/skills" },
    ...{ memory: `/memory?agentId=${support.id}`, chat: "/chat", connections: "/connections" },
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
