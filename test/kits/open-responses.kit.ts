/**
 * The compliance tests of Open Responses against this service. They are in the repository of the
 * specification, not in a registry: `OPEN_RESPONSES_KIT` names a checkout of it, with its packages. Without that
 * this skips itself; `test/responses/compliance.test.ts` has the same rules.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { listen } from "../../src/kernel/runtime.ts";
import { useTenant } from "../harness/fixture.ts";
import { makeAgent, makeProvider } from "../harness/seed.ts";
import { startToolCaller } from "../servers/tool-caller.ts";

const kit = process.env.OPEN_RESPONSES_KIT ?? "";
/** One run of all scenarios. */
const runMs = 120_000;

interface Result {
  readonly id: string;
  readonly status: string;
  readonly errors?: readonly string[];
}

/** Scenarios that this service leaves out, and why. */
const leftOut: Readonly<Record<string, string>> = {
  "compact-response": "there is no POST /v1/responses/compact: a transcript is summarised by itself",
  "compact-missing-model": "the same",
  "websocket-response": "there is no WebSocket",
  "websocket-sequential-responses": "the same",
  "websocket-continuation": "the same",
  "websocket-reconnect-store-false-recovery": "the same",
  "websocket-previous-response-not-found": "the same",
  "websocket-failed-continuation-evicts-cache": "the same",
  "websocket-compact-new-chain": "the same",
  "file-input": "a message takes text and pictures",
};

describe.skipIf(kit === "")("the compliance tests of Open Responses", async () => {
  const { h, t } = await useTenant({ worker: true });
  const model = startToolCaller();
  const server = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
  afterAll(async () => {
    await server.stop(true);
    await model.stop();
  });

  test(
    "pass, but for what is left out",
    async () => {
      const provider = await makeProvider(h, t, { baseUrl: model.url });
      const agentId = await makeAgent(h, t, { providerId: provider.id, model: "tool-caller" });
      const results = await run([
        ...["--base-url", `http://127.0.0.1:${server.port}/v1`],
        ...["--api-key", t.token, "--model", agentId, "--json"],
      ]);
      const judged = results.filter(({ id }) => !(id in leftOut));
      expect(judged.length).toBeGreaterThan(5);
      expect(judged.filter(({ status }) => status !== "passed" && status !== "skipped")).toEqual([]);
    },
    runMs,
  );
});

/** Runs the kit and returns what it says of each scenario. */
async function run(words: readonly string[]): Promise<readonly Result[]> {
  const child = spawn(process.execPath, ["bin/compliance-test.ts", ...words], {
    cwd: kit,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (piece) => {
    output += piece;
  });
  await new Promise((resolve) => child.on("close", resolve));
  return (JSON.parse(output) as { results: Result[] }).results;
}
