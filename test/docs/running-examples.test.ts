import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { listen } from "../../src/kernel/runtime.ts";
import { useTenant } from "../harness/fixture.ts";
import { startProcess } from "../harness/process.ts";
import { inRepository } from "../harness/repository.ts";
import { makeAgent } from "../harness/seed.ts";

const { h, t } = await useTenant({ worker: true });
const service = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
afterAll(() => service.stop(true));
// As the agent of `npm start` is.
const agentId = await makeAgent(h, t, {
  tools: ["workspace", "write_todos", "memory"],
  approvalInChat: { default: "auto" },
});

/** What each example prints, when it does what its first lines say. */
const printed: Readonly<Record<string, readonly RegExp[]>> = {
  "approval.ts": [
    /^It asks: .*tool-approval-request/m,
    /^Approved: memory_save \{"text":"I like tea"\}$/m,
    /^It ran: /m,
  ],
  "cancel.ts": [/^It says: /m, /^\{"canceled":1\}$/m, /^Kept: \[\["user",.*\["assistant",.*"text"/m],
  "client-token.ts": [/^Until \d{4}-/m, /hello/i, /^Not for a page: 403$/m],
  "client-tool.ts": [/^It calls: .*where_am_i/m, /^It answers: /m],
  "client.ts": [/hello/i],
  "fork.ts": [/^The first: 2$/m, /^The fork: 4$/m],
  "join.ts": [/^Left after: /m, /^Joined: .{20}/m, /^null$/m],
  "line.ts": [/^Refused: 409 session_busy$/m, /^urgent .*At once!/m, /^waiting .*Then\./m],
  "memory.ts": [/^\["The shop is closed on Sundays\."\]$/m, /^1 of Ada$/m],
  "plain-fetch.ts": [/^Session \/v1\/agents\//m, /hello/i],
  "repeat-safely.ts": [/^One turn\.$/m],
  "skill.ts": [/^Uploaded: refunds$/m, /pay at once/],
  "structured-output.ts": [/^\{"celsius":21\.5\}$/m],
  "task.ts": [/^Enabled: true$/m, /^The run succeeded$/m],
  "usage.ts": [/"ada"/, /"grace"/],
  "use-chat.ts": [/^assistant: .*two/m, /goodbye/i],
  "whole-answer.ts": [/^stop .*hello/im],
  "workspace.ts": [/tea,3/, /^coffee,4$/m],
};
/** Programs that wait for others are in `examples.test.ts`, and `begin.ts` is no program. */
const elsewhere = ["begin.ts", "chat-apps.ts", "clock.ts", "programs.ts", "responses.ts", "webhook-receiver.ts"];

test("each example is run by a test", () => {
  const files = readdirSync(inRepository("docs/examples"));
  expect(files.sort()).toEqual([...Object.keys(printed), ...elsewhere].sort());
});

describe("docs/examples", () => {
  test.each(Object.entries(printed))("%s does what it says", async (name, patterns) => {
    const child = startProcess(process.execPath, [`docs/examples/${name}`], {
      PARLEY_URL: `http://127.0.0.1:${service.port}`,
      PARLEY_API_KEY: t.token,
      AGENT_ID: agentId,
    });
    const status = await child.ended();
    expect([status, child.stderr()]).toEqual([0, ""]);
    for (const pattern of patterns) expect(child.stdout()).toMatch(pattern);
  });
});
