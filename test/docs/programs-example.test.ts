import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { missingForPrograms } from "../harness/command-runtimes.ts";
import { startProcess } from "../harness/process.ts";
import { sharedRedisUrl, startInstallation } from "../harness/processes.ts";

setDefaultTimeout(180_000);

describe.skipIf(missingForPrograms !== null || sharedRedisUrl === null)("docs/examples/programs.ts", () => {
  test("sums a table with a program that it puts right, and another worker finds it all again", async () => {
    await using installation = await startInstallation();
    const sandbox = { SANDBOX: "bubblewrap" };
    const serve = await installation.serve(sandbox);
    const worker = await installation.work(sandbox);
    const client = await installation.client(serve.url);
    const child = startProcess(process.execPath, ["docs/examples/programs.ts"], {
      PARLEY_URL: serve.url,
      PARLEY_API_KEY: client.token,
      AGENT_ID: client.agentId,
    });
    expect([await child.ended(), child.stderr()]).toEqual([0, ""]);
    const printed = child.stdout();
    expect(printed).toMatch(/^1 TypeError: unsupported operand/m);
    expect(printed).toMatch(/^0 +7$/m);
    expect(printed).toMatch(/^Found again: prices\.csv\nsum\nsum\.py\n7$/m);
    const workspaceId = /^Without a model: 7 in (ws_\w+)$/m.exec(printed)?.[1];

    await worker.kill();
    await installation.work(sandbox);
    const [agent] = await installation.sql<
      { id: string }[]
    >`select id from agents where workspace_id = ${workspaceId ?? ""}`;
    const text = `[[sim: tool=bash args=${JSON.stringify({ command: "python3 sum.py; hostname" })}; text=done]]`;
    const message = { id: "m1", role: "user", parts: [{ type: "text", text }] };
    const again = await client.request("POST", `/v1/agents/${agent?.id}/sessions`, { stream: false, message });
    expect(JSON.stringify(await again.json())).toContain("7\\nsandbox\\n");
  });
});
