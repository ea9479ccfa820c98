/** Who used how much: turns with a `userId`, summed by user. */
import { agentId, parley, print, say } from "./begin.ts";

for (const userId of ["ada", "grace"])
  await parley.sessions.create(agentId, { stream: false, userId, message: say("Say hello.") });
const usage = await parley.usage.get({ groupBy: "user" });
print(usage);
