/** A second session that begins with what the first one held, up to a message. */
import { agentId, parley, print, say } from "./begin.ts";

const first = await parley.sessions.create(agentId, { message: say("My name is Ada.") });
for await (const _ of first.texts());
const sessionId = first.sessionId ?? "";
const { data } = await parley.sessions.listMessages(agentId, sessionId);
const fork = await parley.sessions.fork(agentId, sessionId, { throughMessageId: data.at(-1)?.id ?? "" });
await parley.sessions.resume(agentId, fork.id, { stream: false, message: say("What is my name?") });
for (const id of [sessionId, fork.id])
  print(id === sessionId ? "The first:" : "The fork:", (await parley.sessions.listMessages(agentId, id)).data.length);
