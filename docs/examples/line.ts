/** A message that comes while a turn runs: refused, waiting in line, or in place of the turn that runs. */
import { ParleyError } from "parley/client";
import { agentId, parley, print, say } from "./begin.ts";

const slow = await parley.sessions.create(agentId, { message: say("[[sim: chunks=200 delayMs=50]]") });
const sessionId = slow.sessionId ?? "";
try {
  await parley.sessions.resume(agentId, sessionId, { message: say("Now?") });
} catch (error) {
  if (error instanceof ParleyError) print("Refused:", error.status, error.code);
}
const waiting = await parley.sessions.resume(agentId, sessionId, { message: say("Then."), onBusy: "enqueue" });
const urgent = await parley.sessions.resume(agentId, sessionId, { message: say("At once!"), onBusy: "interrupt" });
for (const [name, turn] of [
  ["urgent", urgent],
  ["waiting", waiting],
] as const) {
  let text = "";
  for await (const part of turn.texts()) text += part;
  print(name, text);
}
