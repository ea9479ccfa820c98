/** What an agent remembers of a user, written beforehand and found by search; with `memoryInjectionEnabled` it reads it in every turn. */
import { makeAgent, parley, print } from "./begin.ts";

const agent = await makeAgent({ tools: ["memory"], memoryInjectionEnabled: true });
await parley.memories.create(agent.id, { text: "The shop is closed on Sundays." });
await parley.memories.create(agent.id, { text: "Ada likes tea.", userId: "ada" });
const found = await parley.memories.list(agent.id, { search: "sundays" });
print(found.data.map(({ text }) => text));
print((await parley.memories.list(agent.id, { userId: "ada" })).data.length, "of Ada");
await parley.agents.delete(agent.id);
