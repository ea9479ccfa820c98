/** A tool call that waits for a person: the turn stops, a decision sends it on, and its answer goes on in the same message. */
import { makeAgent, parley, print, say } from "./begin.ts";

const agent = await makeAgent({ tools: ["memory"], approvalInChat: { default: "manual" } });
const turn = await parley.sessions.create(agent.id, {
  message: say('Use the memory_save tool with {"text":"I like tea"}'),
});
for await (const chunk of turn) if (chunk.type === "tool-approval-request") print("It asks:", chunk);

const sessionId = turn.sessionId ?? "";
const { approvals } = await parley.toolApprovals.list(agent.id, sessionId);
for (const { id, tool, input } of approvals) {
  print("Approved:", tool, input);
  const { continuation } = await parley.toolApprovals.decide(agent.id, sessionId, id, { approved: true });
  const rest = await parley.toolApprovals.joinContinuation(agent.id, sessionId, continuation.id);
  for await (const chunk of rest) if (chunk.type === "tool-output-available") print("It ran:", chunk);
}
await parley.agents.delete(agent.id);
