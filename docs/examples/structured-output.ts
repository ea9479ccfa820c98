/** An answer that fits a JSON schema: `output` holds it parsed, and the service has checked it. */
import { agentId, parley, print, say } from "./begin.ts";

const schema = { type: "object", properties: { celsius: { type: "number" } }, required: ["celsius"] };
const { output } = await parley.sessions.create(agentId, {
  stream: false,
  // A real model needs no script to keep to a schema.
  message: say('How warm is it? [[sim: text="{\\"celsius\\":21.5}"]]'),
  responseFormat: { type: "json_schema", name: "reading", schema },
});
print(output);
