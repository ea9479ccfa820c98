/** A first conversation with the typed client. `npm start` prints the address, the key and the agent. */
import { Parley } from "parley/client";

const { PARLEY_URL = "http://127.0.0.1:8080", PARLEY_API_KEY = "", AGENT_ID = "" } = process.env;
const parley = new Parley({ baseUrl: PARLEY_URL, apiKey: PARLEY_API_KEY });

const turn = await parley.sessions.create(AGENT_ID, {
  message: { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text: "Say hello." }] },
});
for await (const text of turn.texts()) process.stdout.write(text);
process.stdout.write("\n");
