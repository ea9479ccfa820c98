import { describe, expect, test } from "bun:test";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { idle, messagesOf, open, play, script, sessionPath } from "../harness/turns.ts";

/** A command may run this long before it is cut; a cancelled one must end well before. */
const cutMs = 30_000;

const { h, t } = await useTenant({ worker: true });
const { body } = await t.call("POST", "/v1/workspaces", { body: {} });
const agentId = await makeAgent(h, t, { tools: ["workspace"], workspaceId: body.id });
const files = `/v1/workspaces/${body.id}/files`;

const calling = (tool: string, input: object) => script(`tool=${tool} args=${JSON.stringify(input)}; text=done`);

/** What a turn's only tool call put out. */
async function called(tool: string, input: object) {
  const { status, body, sessionId } = await play(t, agentId, null, { message: calling(tool, input), stream: false });
  expect([status, body.error]).toEqual([201, undefined]);
  const [, response] = await messagesOf(t, agentId, sessionId);
  return response.parts.find((part: { type: string }) => part.type === `tool-${tool}`);
}

describe("the tools of a workspace in a turn", () => {
  test("bash works on the files that HTTP shows, in a process with nothing of the service's", async () => {
    const { output } = await called("bash", { command: "mkdir out; echo hi > out/a; cat out/a; env; exit 3" });
    expect(output).toMatchObject({ exitCode: 3, stderr: "" });
    expect(output.stdout).toStartWith("hi\n");
    expect(output.stdout).not.toMatch(/DATABASE|REDIS|ENCRYPTION/);
    const { body } = await t.call("GET", `${files}?path=${encodeURIComponent("out/a")}`);
    expect(body).toBe("hi\n");
  });

  test("grep and read find what was uploaded", async () => {
    const put = { body: "one\ntwo needles\n", headers: { "content-type": "application/octet-stream" } };
    expect((await t.call("PUT", `${files}?path=hay`, put)).status).toBeLessThan(300);
    expect(JSON.stringify((await called("grep", { pattern: "need.es" })).output)).toContain("two needles");
    expect(JSON.stringify((await called("read", { path: "hay" })).output)).toContain("one");
  });

  test("a command that eats memory is cut, and the next one runs", async () => {
    const eaten = await called("bash", { command: "x=xxxxxxxx; while true; do x=$x$x; done" });
    expect(eaten.output?.exitCode).not.toBe(0);
    expect((await called("bash", { command: "echo alive" })).output.stdout).toBe("alive\n");
  }, 60_000);

  test("cancelling the turn ends its command long before the command would be cut", async () => {
    const message = calling("bash", { command: "while true; do :; done" });
    const live = await open(h, t, "POST", sessionPath(agentId, null), { body: { message } });
    await live.until("tool-input-available");
    const startedAt = Date.now();
    await eventually(
      async () => (await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"))).status === 202,
    );
    await live.rest();
    await idle(h, live.sessionId);
    expect(Date.now() - startedAt).toBeLessThan(cutMs / 2);
  });
});
