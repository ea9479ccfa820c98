/** A credential for a page: one user, one agent, and an hour. With it a page speaks to Parley itself. */
import { Parley, ParleyError } from "parley/client";
import { agentId, parley, parleyUrl, print, say } from "./begin.ts";

const { token, expiresAt } = await parley.clientTokens.create({ agentId, userId: "ada", expiresInSeconds: 3_600 });
print("Until", expiresAt);

// This is what the page does.
const page = new Parley({ baseUrl: parleyUrl, apiKey: token });
const turn = await page.sessions.create(agentId, { message: say("Say hello.") });
for await (const text of turn.texts()) print(text);
await page.agents.list().catch((error) => {
  if (error instanceof ParleyError) print("Not for a page:", error.status);
});
