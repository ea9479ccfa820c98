/** What most examples here begin with: the client, the agent of `npm start`, and a message of one text. */
import { Parley } from "parley/client";

const { PARLEY_URL = "http://127.0.0.1:8080", PARLEY_API_KEY = "", AGENT_ID = "" } = process.env;

export const parleyUrl = PARLEY_URL;
export const agentId = AGENT_ID;
export const parley = new Parley({ baseUrl: PARLEY_URL, apiKey: PARLEY_API_KEY });

export function say(text: string) {
  return { id: crypto.randomUUID(), role: "user" as const, parts: [{ type: "text" as const, text }] };
}

export function print(...words: readonly unknown[]): void {
  process.stdout.write(`${words.map((word) => (typeof word === "string" ? word : JSON.stringify(word))).join(" ")}\n`);
}

/** An agent on the same model as the one of `npm start`, to be changed at will. */
export async function makeAgent(fields: Partial<Parameters<typeof parley.agents.create>[0]>) {
  const { providerId, model } = await parley.agents.get(AGENT_ID);
  return parley.agents.create({ name: `Example ${crypto.randomUUID().slice(0, 8)}`, providerId, model, ...fields });
}
