import { afterAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { StrangeBodies } from "../../../src/kernel/admission/strange-bodies.ts";
import { listen } from "../../../src/kernel/runtime.ts";
import { useChat } from "../../harness/chat-fixture.ts";
import { tryToSignIn } from "../../harness/console-page.ts";
import { eventually } from "../../harness/eventually.ts";
import { inProcess } from "../../harness/runtimes.ts";
import { slackEvent, slackRequest } from "../../servers/slack.ts";

const operatorToken = "operator-token-of-the-test";
const fixture = await useChat({ CONSOLE: "1", OPERATOR_TOKEN: operatorToken });
const { t, agentId } = await fixture.tenant();

/** More than one sender has places in a process. */
const slowOnes = 80;

describe.skipIf(!inProcess)("a body that nobody vouches for yet", () => {
  const { h } = fixture;
  const server = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
  const sockets: Socket[] = [];
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await server.stop(true);
  });

  /** Requests whose bodies begin and never end; returns what came back for each so far. */
  async function begin(path: string, count: number): Promise<string[]> {
    const received = Array.from({ length: count }, () => "");
    for (let n = 0; n < count; n++) {
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.on("data", (data) => {
        received[n] = `${received[n]}${data}`;
      });
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: parley.test\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{`,
      );
      sockets.push(socket);
    }
    return received;
  }

  test("keeps no webhook of its connection or another one out, and is not waited for where there is no connection", async () => {
    const [own, other] = [await fixture.connectSlack(t, agentId), await fixture.connectSlack(t, agentId)];
    const send = async ({ bot, webhookUrl }: typeof own) =>
      (await h.app(slackRequest(bot, webhookUrl, { type: "url_verification", challenge: "c", token: "t" }))).status;
    const slow = await begin(new URL(own.webhookUrl).pathname, slowOnes);
    // The first ones have given way to the last ones.
    await eventually(() => slow.filter((text) => text.startsWith("HTTP/1.1 400")).length >= slowOnes - 64);
    expect([await send(other), await send(own)]).toEqual([200, 200]);
    const invented = await begin(`/v1/chat/webhooks/chat_a/cc_${"0".repeat(24)}`, slowOnes);
    expect(await send(other)).toBe(200);
    expect(invented.some((text) => text.startsWith("HTTP/1.1 2"))).toBe(false);
    const payload = slackEvent(own.bot, { type: "message", user: "U", channel: "C", ts: "1.1", text: "hi" }, "EvSLOW");
    expect((await h.app(slackRequest(own.bot, own.webhookUrl, payload))).status).toBe(200);
  });

  test("keeps no sign-in out, and no new credential", async () => {
    await begin("/console/api/login", slowOnes);
    const anonymous = await begin("/v1/agents", slowOnes);
    await eventually(() => anonymous.every((text) => text === "" || text.startsWith("HTTP/1.1 401")));
    expect((await tryToSignIn(h.app, { token: operatorToken })).status).toBe(200);
    expect((await tryToSignIn(h.app, { apiKey: t.token })).status).toBe(200);
    const { apiKey } = (await t.call("POST", "/v1/apikeys", { body: { name: "new" } })).body;
    expect(apiKey.id).toStartWith("ak_");
    const { token } = (await t.call("POST", "/v1/client-tokens", { body: { agentId, userId: "anna" } })).body;
    expect((await t.call("GET", `/v1/agents/${agentId}/sessions`, { token })).status).toBe(200);
  });
});

test("of those that come at once, the oldest gives way to one too many", async () => {
  const bodies = new StrangeBodies(2);
  const ends: ((text: string) => void)[] = [];
  const read = (kind: string) => {
    const body = new ReadableStream({
      start(controller) {
        ends.push((text) => {
          controller.enqueue(new TextEncoder().encode(text));
          controller.close();
        });
      },
    });
    const request = new Request("http://parley.test/", { method: "POST", body });
    return bodies.read(kind, request, 100).then(
      (bytes) => new TextDecoder().decode(bytes),
      (error) => error.message,
    );
  };
  const [first, second, third, elsewhere] = [read("a"), read("a"), read("a"), read("b")];
  expect(await first).toContain("too slowly");
  for (const [place, end] of ends.slice(1).entries()) end(`body ${place}`);
  expect(await Promise.all([second, third, elsewhere])).toEqual(["body 0", "body 1", "body 2"]);
});
