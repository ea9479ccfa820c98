/** A reader that goes away leaves the turn running. Whoever joins later sees all of it: what was, and what comes. */
import { agentId, parley, print, say } from "./begin.ts";

const turn = await parley.sessions.create(agentId, { message: say("[[sim: chunks=10 delayMs=50]]") });
for await (const text of turn.texts()) {
  print("Left after:", text);
  break;
}
const joined = await parley.sessions.join(agentId, turn.sessionId ?? "");
let whole = "";
if (joined !== null) for await (const text of joined.texts()) whole += text;
print("Joined:", whole);
// Nothing runs now.
print(await parley.sessions.join(agentId, turn.sessionId ?? ""));
