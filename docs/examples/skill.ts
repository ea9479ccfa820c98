/** A folder of instructions that goes up as an archive. The model is told its name, and reads the rest when it needs it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeAgent, parley, print, say } from "./begin.ts";

const folder = mkdtempSync(join(tmpdir(), "skill-"));
const manifest = "---\nname: refunds\ndescription: How refunds are decided\n---\nUp to 50 euros: pay at once.\n";
writeFileSync(join(folder, "SKILL.md"), manifest);
execFileSync("tar", ["-czf", `${folder}.tar.gz`, "-C", folder, "."]);

const agent = await makeAgent({});
const file = new Blob([readFileSync(`${folder}.tar.gz`)]);
const skill = await parley.skills.upload(agent.id, { file, type: "tar.gz" });
print("Uploaded:", skill.name);
const question = say('Use the activate_skill tool with {"name":"refunds"}');
const { message } = await parley.sessions.create(agent.id, { stream: false, message: question });
print(message.parts.find(({ type }) => type === "tool-activate_skill"));
await parley.agents.delete(agent.id);
