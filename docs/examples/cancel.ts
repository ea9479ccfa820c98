/** A turn that is stopped midway, with what it had said kept in the transcript. */
import { agentId, parley, print, say } from "./begin.ts";

const turn = await parley.sessions.create(agentId, { message: say("[[sim: chunks=200 delayMs=50]]") });
const sessionId = turn.sessionId ?? "";
let isAsked = false;
// A cancel is asked for; the stream's end is the turn's.
for await (const text of turn.texts()) {
  print("It says:", text);
  if (!isAsked) print(await parley.sessions.cancel(agentId, sessionId, { keep: "partial" }));
  isAsked = true;
}
const { data } = await parley.sessions.listMessages(agentId, sessionId);
print(
  "Kept:",
  data.map(({ role, parts }) => [role, parts]),
);
