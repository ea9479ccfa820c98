/** A request that may be sent twice: with an Idempotency-Key the repeat gets the first turn, and nothing runs again. */
import { agentId, parley, print, say } from "./begin.ts";

const body = { stream: false as const, message: say("Say hello.") };
const options = { idempotencyKey: crypto.randomUUID() };
const first = await parley.sessions.create(agentId, body, options);
// As after a connection that broke before the response came.
const again = await parley.sessions.create(agentId, body, options);
print(first.message.id === again.message.id ? "One turn." : "Two turns.");
