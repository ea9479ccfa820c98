/**
 * `local-slack`, other people's stand-in for Slack, as the workspace of a chat connection: it signs its webhooks, shows what
 * the bot posts and lets its people press buttons. `npm run test:kits` fetches its program and runs this.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listen } from "../../src/kernel/runtime.ts";
import { eventually, startHarness } from "../harness/harness.ts";
import { startProcess } from "../harness/process.ts";
import { makeAgent } from "../harness/seed.ts";
import { fetchKit } from "./fetch-kit.ts";

const isThere = process.platform === "linux" && process.arch === "x64";

/** A message as the workspace has it. */
interface Posted {
  readonly ts: string;
  readonly user: string;
  readonly text: string;
  readonly thread_ts?: string;
  readonly subtype?: string;
  readonly ephemeral_to?: string;
  readonly blocks?: readonly { readonly type: string; readonly elements?: readonly { readonly value: string }[] }[];
}

const [alice, bob, bot] = ["U01ALICE", "U02BOB", "U0BOT"] as const;
const [general, direct] = ["C01GEN", "D01ALICE"] as const;
const asks = '[[sim: text="Let me note that." tool=memory_save args={"text":"likes tea"} ; text="All **done**."]]';

describe.skipIf(!isThere)("a workspace of local-slack", async () => {
  if (!isThere) return;
  const folder = await mkdtemp(join(tmpdir(), "local-slack-"));
  // Its webhooks go where the connection is, which is known only once the workspace runs.
  const webhook = { path: "" };
  const forward = (request: Request) =>
    h.app(new Request(new URL(webhook.path, "http://127.0.0.1"), request as RequestInit));
  const door = listen({ hostname: "127.0.0.1", port: 0, fetch: forward });
  const credentials = { botToken: "xoxb-a-token", signingSecret: "a-signing-secret" };
  const config = {
    app: {
      ...credentials,
      ...{ appId: "A01APP", botUserId: bot, botName: "parley", mode: "events" },
      requestUrl: `http://127.0.0.1:${door.port}/`,
    },
    users: [
      { id: alice, name: "alice" },
      { id: bob, name: "bob" },
    ],
    channels: [
      { id: general, name: "general", members: [alice, bob, bot] },
      { id: direct, name: "alice", is_channel: false, is_im: true, members: [alice, bot] },
    ],
  };
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
  const program = join(await fetchKit("local-slack-linux-x64@0.1.8"), "bin", "local-slack");
  const words = ["--config", join(folder, "config.json"), "--port", "0", "--base-host", "127.0.0.1"];
  const slack = startProcess(program, words, {});
  const [, url = ""] = await slack.prints(/Web UI: +(http:\S+)/);
  const h = await startHarness({ worker: true, env: { CHAT_A_API_URL: `${url}/api/` } });
  afterAll(async () => {
    await slack.kill();
    await h.stop();
    await door.stop(true);
    await rm(folder, { recursive: true });
  });

  const t = await h.tenant();
  const agentId = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });
  const connection = await t.parley.chatConnections.create({ name: "S", agentId, platform: "slack", credentials });
  webhook.path = new URL(connection.webhookUrl).pathname;

  const control = async (path: string, body?: object) => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    return (await fetch(`${url}/_control/${path}`, body === undefined ? {} : init)).json();
  };
  const say = async (user: string, channel: string, text: string, thread?: string): Promise<string> => {
    const place = thread === undefined ? {} : { thread_ts: thread };
    return (await control("message", { channel, user, text, ...place })).message.ts;
  };
  const messagesIn = async (channel: string, thread?: string): Promise<Posted[]> =>
    (await control(`messages/${channel}`)).messages.filter(
      ({ user, thread_ts }: Posted) => user === bot && (thread === undefined || thread_ts === thread),
    );
  const posted = (channel: string, count: number, thread?: string) =>
    eventually(async () => {
      const found = await messagesIn(channel, thread);
      return found.length >= count ? found : null;
    });
  const press = (user: string, { ts, blocks }: Posted, place: number) => {
    const element = blocks?.find(({ type }) => type === "actions")?.elements?.[place];
    return control("interact", { channel: general, messageTs: ts, user, action: element ?? {} });
  };
  const cardIn = (thread: string) =>
    eventually(async () => (await messagesIn(general, thread)).find(({ blocks }) => blocks !== undefined));
  const approvalsOf = async () => {
    const [session] = (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data;
    return (await t.call("GET", `/v1/agents/${agentId}/sessions/${session.id}/tool-approvals`)).body.approvals;
  };

  test("the connection is checked, and knows the bot, its app and its workspace", async () => {
    const { body } = await t.call("POST", `/v1/chat-connections/${connection.id}/check`);
    expect(body).toMatchObject({
      identity: { appId: "A01APP", botUserId: bot, teamId: "T01TEST" },
      health: { tokenValid: true, identityVerified: true },
    });
  });

  test("a mention is answered in its thread, once, with a sign of work before it", async () => {
    const thread = await say(alice, general, `<@${bot}> [[sim: text="Some **bold** & <plain>"]] *really*`);
    const [answer] = await posted(general, 1, thread);
    expect(answer?.text).toBe("Some *bold* &amp; &lt;plain&gt;");
    const [session] = (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data;
    const { data } = (await t.call("GET", `/v1/agents/${agentId}/sessions/${session.id}/messages`)).body;
    expect(data[0].parts[0].text).toEndWith("**really**");
    // Both a message and a mention were sent of it.
    expect(data).toHaveLength(2);
    const { log } = await control("log");
    const calls = log.map(({ summary }: { summary: string }) => summary);
    const [work, answered] = ["assistant.threads.setStatus", "chat.postMessage"].map((name) => calls.indexOf(name));
    expect([work !== -1, (work ?? 0) < (answered ?? 0)]).toEqual([true, true]);
  });

  test("a direct message is answered without a mention", async () => {
    await say(alice, direct, '[[sim: text="Hello Alice"]]');
    expect((await posted(direct, 1))[0]?.text).toBe("Hello Alice");
  });

  test("another person's press decides nothing and is told so alone; the asker's does, and the card says who", async () => {
    const thread = await say(alice, general, `<@${bot}> ${asks}`);
    const card = await cardIn(thread);
    await press(bob, card, 0);
    const told = await eventually(async () =>
      (await messagesIn(general)).find(({ ephemeral_to }) => ephemeral_to === bob),
    );
    expect(told.text).toContain("Only the person");
    expect((await approvalsOf())[0]).toMatchObject({ status: "pending", decidedBy: null });

    await press(alice, card, 0);
    const done = await eventually(async () =>
      (await messagesIn(general, thread)).find(({ text }) => /done/.test(text)),
    );
    expect(done.text).toBe("All *done*.");
    const decided = await eventually(async () =>
      (await messagesIn(general, thread)).find(({ text }) => /^\*Approved/.test(text)),
    );
    expect(decided.text).toContain("by `alice`");
    expect(decided.blocks?.some(({ type }) => type === "actions")).toBe(false);
    expect((await approvalsOf())[0]).toMatchObject({
      status: "approved",
      decidedBy: { type: "chat_user", id: alice },
    });
  });

  test("who is named as an approver may decide what another one asked", async () => {
    const body = { configuration: { approverIds: [bob] } };
    expect((await t.call("PATCH", `/v1/chat-connections/${connection.id}`, { body })).status).toBe(200);
    const thread = await say(alice, general, `<@${bot}> ${asks}`);
    await press(bob, await cardIn(thread), 1);
    const decided = await eventually(async () =>
      (await messagesIn(general, thread)).find(({ text }) => /^\*Denied/.test(text)),
    );
    expect(decided.text).toContain("by `bob`");
  });
});
