/** A tool that only the caller can run: the model calls it, the turn waits, and this program gives the result. */
import { makeAgent, parley, print, say } from "./begin.ts";

const whereAmI = { name: "where_am_i", description: "Where the user is.", inputSchema: { type: "object" as const } };
const agent = await makeAgent({ clientTools: [whereAmI], approvalInChat: { default: "full" } });
const turn = await parley.sessions.create(agent.id, { message: say("Use the where_am_i tool with {}") });
for await (const chunk of turn) if (chunk.type === "tool-input-available") print("It calls:", chunk);

const sessionId = turn.sessionId ?? "";
const { toolCalls } = await parley.toolCalls.list(agent.id, sessionId);
for (const { toolCallId } of toolCalls) {
  const result = { output: { latitude: 38.7, longitude: -9.1 } };
  const { continuation } = await parley.toolCalls.settle(agent.id, sessionId, toolCallId, result);
  const rest = await parley.toolApprovals.joinContinuation(agent.id, sessionId, continuation.id);
  for await (const text of rest.texts()) print("It answers:", text);
}
await parley.agents.delete(agent.id);
