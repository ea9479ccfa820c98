/** Files that an agent's tools and you share: one is written here, read by the agent, and listed. */
import { makeAgent, parley, print, say } from "./begin.ts";

const { id: workspaceId } = await parley.workspaces.create();
const agent = await makeAgent({ workspaceId, tools: ["workspace"] });
await parley.workspaces.writeFile(workspaceId, "tea,3\ncoffee,4\n", { path: "prices.csv" });
const { message } = await parley.sessions.create(agent.id, {
  stream: false,
  message: say('Use the read tool with {"path":"prices.csv"}'),
});
print(message.parts.find(({ type }) => type === "tool-read"));
const bytes = await parley.workspaces.getFiles(workspaceId, { path: "prices.csv" });
print(new TextDecoder().decode(bytes));
await parley.agents.delete(agent.id);
