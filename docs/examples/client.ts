/** A first conversation with the typed client: PARLEY_URL and PARLEY_TOKEN say where and as whom. */
import { Parley } from "parley/client";

const { PARLEY_URL = "http://127.0.0.1:3000", PARLEY_TOKEN = "" } = process.env;
const parley = new Parley({ baseUrl: PARLEY_URL, apiKey: PARLEY_TOKEN });

const { agents } = await parley.agents.list();
const agent = agents[0] ?? (await parley.agents.create({ name: "Support" }));
const turn = await parley.sessions.create(agent.id, {
  message: { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text: "Say hello." }] },
});
for await (const text of turn.texts()) process.stdout.write(text);
process.stdout.write("\n");
