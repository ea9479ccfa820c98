/**
 * The AI SDK's `useChat` on Parley, without a page: `Chat` is what the hook is made of, and takes the same. It asks, stops an
 * answer midway, and asks again.
 */
import { Chat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { canGoOn, ParleyChat } from "parley/use-chat";

const { PARLEY_URL = "http://127.0.0.1:8080", PARLEY_API_KEY = "", AGENT_ID = "" } = process.env;
const parley = new ParleyChat({ agentUrl: `${PARLEY_URL}/v1/agents/${AGENT_ID}`, apiKey: PARLEY_API_KEY });
const chat = new Chat({ transport: parley.transport, sendAutomaticallyWhen: canGoOn });

await chat.sendMessage({ text: "Say hello." });
// The simulated model sends a word each 100 ms.
const answering = chat.sendMessage({ text: '[[sim: text="one two three four five six seven eight" delayMs=100]]' });
while (!textOf(chat.lastMessage).startsWith("one two")) await new Promise((resolve) => setTimeout(resolve, 20));
await chat.stop();
await answering;
await chat.sendMessage({ text: "Say goodbye." });

for (const message of chat.messages) process.stdout.write(`${message.role}: ${textOf(message)}\n`);

function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}
