import { expect, test } from "bun:test";
import { listen } from "../../src/kernel/runtime.ts";
import { useAgent } from "../harness/fixture.ts";
import { startProcess } from "../harness/process.ts";

const { h, t, agentId } = await useAgent({ worker: true, agent: { approvalInChat: { default: "auto" } } });

test("docs/examples/responses.ts streams an answer, approves its function and answers with its output", async () => {
  const server = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
  const child = startProcess(process.execPath, ["docs/examples/responses.ts"], {
    PARLEY_URL: `http://127.0.0.1:${server.port}`,
    PARLEY_API_KEY: t.token,
    AGENT_ID: agentId,
  });
  try {
    await child.prints(/Say hello[\s\S]*It is sunny in Lisbon\./);
    const asked = h.model.requests().map(({ body }) => JSON.stringify(body));
    expect(asked.at(-1)).toContain("Sunny and 21 degrees in Lisbon.");
  } finally {
    await child.kill();
    await server.stop(true);
  }
});
