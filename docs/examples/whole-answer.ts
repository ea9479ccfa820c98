/** A turn as one response: `stream: false` waits for the whole message. */
import { agentId, parley, print, say } from "./begin.ts";

const { message, finishReason } = await parley.sessions.create(agentId, { stream: false, message: say("Say hello.") });
print(finishReason ?? "", message.parts);
