/**
 * An agent that writes programs and runs them; the service runs with `SANDBOX=bubblewrap`. It writes a table, sums it with a
 * program that is wrong at first, reads the error, puts it right, and finds everything again in another conversation.
 */
import { makeAgent, parley, print, say } from "./begin.ts";

const { id: workspaceId } = await parley.workspaces.create();
const agent = await makeAgent({ workspaceId, tools: ["workspace"] });

/** What the model is told to do; a model of a vendor finds it out by itself. */
const bash = (command: string) => `tool=bash args=${JSON.stringify({ command })}`;
const write = (path: string, content: string) => `tool=write args=${JSON.stringify({ path, content })}`;
const script = (...steps: readonly string[]) => say(`[[sim: ${steps.join("; ")}]]`);
const wrong = "import csv\nprint(sum(row[1] for row in csv.reader(open('prices.csv'))))\n";

const first = await parley.sessions.create(agent.id, {
  stream: false,
  message: script(
    bash("printf 'tea,3\\ncoffee,4\\n' > prices.csv"),
    write("/workspace/sum.py", wrong),
    bash("python3 sum.py"),
    bash("sed -i 's/row.1./int(row[1])/' sum.py && python3 sum.py | tee sum"),
    "text=done",
  ),
});
const results = (message: typeof first.message) =>
  message.parts.flatMap((part) =>
    "output" in part ? [part.output as { exitCode?: number; stdout?: string; stderr?: string }] : [],
  );
for (const { exitCode, stdout, stderr } of results(first.message)) {
  if (exitCode !== undefined) print(exitCode, stderr?.trim().split("\n").at(-1) ?? "", stdout?.trim() ?? "");
}

const second = await parley.sessions.create(agent.id, {
  stream: false,
  message: script(bash("ls; cat sum"), "text=done"),
});
print("Found again:", results(second.message)[0]?.stdout);
const { stdout } = await parley.workspaces.runCommand(workspaceId, { command: "python3 sum.py" });
print("Without a model:", stdout.trim(), "in", workspaceId);
