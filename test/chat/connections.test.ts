import { describe, expect, test } from "bun:test";
import { deleteTenant } from "../../src/tenants/purge.ts";
import { useChat } from "../harness/chat-fixture.ts";
import { eventually } from "../harness/harness.ts";
import { expectSameError } from "../harness/status-and-code.ts";

const fixture = await useChat();
const { t, agentId } = await fixture.tenant();

const path = "/v1/chat-connections";
const create = (fields: object, tenant = t) =>
  tenant.call("POST", path, { body: { name: "Chat", agentId, platform: "chat_a", ...fields } });
const slackCredentials = (bot = fixture.slack.install()) => ({ botToken: bot.token, signingSecret: bot.signingSecret });

describe("POST /v1/chat-connections", () => {
  test("201 for Slack: the bot's identity, the webhook's URL, and never a secret", async () => {
    const bot = fixture.slack.install();
    const made = await create({ platform: "slack", credentials: slackCredentials(bot) });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.stringMatching(/^cc_[0-9a-z]{24}$/),
      tenantId: t.id,
      agentId,
      name: "Chat",
      platform: "chat_a",
      enabled: true,
      configuration: { platform: "chat_a", channelIds: [] },
      webhookUrl: `http://parley.test/v1/chat/webhooks/chat_a/${made.body.id}`,
      identity: { botId: bot.botId, botUserId: bot.userId, teamId: bot.teamId, appId: bot.appId },
      health: {
        checkedAt: expect.any(String),
        tokenValid: true,
        identityVerified: true,
        checks: [
          { code: "bot_identity", status: "pass" },
          { code: "webhook_url", status: "unknown" },
        ],
      },
      credentialFragment: bot.token.slice(-4),
      credentialVersion: 1,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const read = await t.call("GET", `${path}/${made.body.id}`, { form: "a" });
    expect(read.body).toEqual(made.body);
    const [row] = await fixture.h.sql`select sealed_credentials from chat_connections where id = ${made.body.id}`;
    expect(Buffer.from(row?.sealedCredentials).includes(bot.token)).toBe(false);
  });

  test("201 for Telegram registers the webhook with a secret; one that cannot be registered is saved disabled", async () => {
    const bot = fixture.telegram.make();
    const made = await create({ platform: "chat_b", credentials: { botToken: bot.token } });
    expect([made.status, made.body.enabled, made.body.configuration]).toEqual([
      201,
      true,
      { platform: "chat_b", chatIds: [], businessMode: false },
    ]);
    expect(bot.webhook).toEqual({
      url: made.body.webhookUrl,
      secret: expect.stringMatching(/^[A-Za-z0-9_-]{32,256}$/),
      updates: ["message", "callback_query"],
    });
    expect(made.body.health.checks).toContainEqual({ code: "webhook_url", status: "pass" });

    const unlucky = fixture.telegram.make();
    const refusal = { status: 400, body: { ok: false, error_code: 400, description: "Bad Request: bad webhook" } };
    fixture.telegram.injectFault(fixture.telegram.path(unlucky, "setWebhook"), refusal);
    const disabled = await create({ platform: "telegram", credentials: { botToken: unlucky.token } });
    expect([disabled.status, disabled.body.enabled]).toEqual([201, false]);
    expect(disabled.body.health.checks).toContainEqual({ code: "webhook_url", status: "fail" });

    fixture.telegram.injectFault(fixture.telegram.path(unlucky, "setWebhook"), refusal);
    const stillOff = await t.call("POST", `${path}/${disabled.body.id}/enable`, { body: {} });
    expect([stillOff.status, stillOff.body.enabled]).toEqual([200, false]);
    const on = await t.call("POST", `${path}/${disabled.body.id}/enable`, { body: {} });
    expect([on.status, on.body.enabled]).toEqual([200, true]);
  });

  test("400 validation_failed: names the field", async () => {
    const credentials = slackCredentials();
    const broken: [object, string][] = [
      [{ name: "", credentials }, "/name"],
      [{ name: "x".repeat(81), credentials }, "/name"],
      [{ platform: "chat_c", credentials }, "/platform"],
      [{ credentials: { botToken: "xoxb-1" } }, "/credentials/signingSecret"],
      [{ platform: "chat_b", credentials }, "/credentials/signingSecret"],
      [{ credentials: {} }, "/credentials/botToken"],
      [{ credentials, configuration: {} }, "/configuration"],
      [{ credentials, agentId: "nope" }, "/agentId"],
    ];
    for (const [fields, pointer] of broken) {
      const response = await create(fields);
      expect([response.status, response.body.error.code]).toEqual([400, "validation_failed"]);
      expect(response.body.error.details.issues.map((issue: { path: string }) => issue.path)).toContain(pointer);
    }
    const inA = await t.call("POST", path, { body: { name: "" }, form: "a" });
    expect([inA.status, inA.body.error.code]).toEqual([400, "invalid_request"]);
  });

  test("400 invalid_request: a refused token, a person's token, a bot that any tenant has connected", async () => {
    const code = async (fields: object, tenant = t) => {
      const { status, body } = await create(fields, tenant);
      return [status, body.error?.code];
    };
    expect(await code({ credentials: { botToken: "xoxb-unknown", signingSecret: "s" } })).toEqual([
      400,
      "invalid_request",
    ]);
    expect(await code({ platform: "chat_b", credentials: { botToken: "1:unknown" } })).toEqual([
      400,
      "invalid_request",
    ]);
    expect(await code({ platform: "chat_b", credentials: { botToken: "../x?" } })).toEqual([400, "invalid_request"]);
    const person = fixture.slack.install();
    fixture.slack.injectFault(
      "/api/auth.test",
      { status: 200, body: { ok: true, team_id: "T1", user_id: "U1" } },
      person.token,
    );
    expect(await code({ credentials: slackCredentials(person) })).toEqual([400, "invalid_request"]);

    const bot = fixture.telegram.make();
    const first = await fixture.connectTelegram(t, agentId, bot);
    const stranger = await fixture.tenant();
    const again = { platform: "chat_b", credentials: { botToken: bot.token }, agentId: stranger.agentId };
    expect(await code(again, stranger.t)).toEqual([400, "invalid_request"]);
    expect(bot.webhook?.url).toBe(first.webhookUrl);
    expect((await t.call("DELETE", `${path}/${first.id}`)).status).toBe(204);
    expect(bot.webhook).toBeNull();
    expect((await create(again, stranger.t)).status).toBe(201);
  });

  test("404 not_found: an agent that is missing or another tenant's; 503 service_unavailable: the platform is out of reach", async () => {
    const stranger = await fixture.tenant();
    const foreign = await create({ credentials: slackCredentials(), agentId: stranger.agentId });
    expect([foreign.status, foreign.body.error.code]).toEqual([404, "not_found"]);
    const bot = fixture.slack.install();
    for (const fault of ["cut before", { status: 500, body: {} }] as const) {
      fixture.slack.injectFault("/api/auth.test", fault, bot.token);
      const response = await create({ credentials: slackCredentials(bot) });
      expect([response.status, response.body.error.code, response.headers.has("retry-after")]).toEqual([
        503,
        "service_unavailable",
        true,
      ]);
    }
    expect((await create({ credentials: slackCredentials(bot) })).status).toBe(201);
  });

  test("400 invalid_request: more than 20 a tenant, however many come at once; an Idempotency-Key makes one", async () => {
    const own = await fixture.tenant();
    const bot = fixture.slack.install();
    const once = () =>
      own.t.call("POST", path, {
        body: { name: "One", agentId: own.agentId, platform: "slack", credentials: slackCredentials(bot) },
        headers: { "idempotency-key": "connect-1" },
      });
    const [first, repeat] = [await once(), await once()];
    expect([first.status, repeat.status, repeat.body.id]).toEqual([201, 201, first.body.id]);
    const more = await Promise.all(
      Array.from({ length: 22 }, () => create({ credentials: slackCredentials(), agentId: own.agentId }, own.t)),
    );
    expect(more.filter(({ status }) => status === 201)).toHaveLength(19);
    for (const { status, body } of more)
      if (status !== 201) expect([status, body.error.code]).toEqual([400, "invalid_request"]);
    const listed = (await own.t.call("GET", path)).body.chatConnections;
    expect(listed).toHaveLength(20);
    expect(listed[0].id).toBe(first.body.id);
    const created = listed.map((row: { createdAt: string }) => row.createdAt);
    expect(created).toEqual([...created].sort());
  });
});

describe("PATCH /v1/chat-connections/:id", () => {
  test("200 changes name and configuration, and keeps what is left out", async () => {
    const connection = await fixture.connectSlack(t, agentId);
    const patch = (body: object) => t.call("PATCH", `${path}/${connection.id}`, { body });
    expect((await patch({ name: "Renamed" })).body).toMatchObject({
      name: "Renamed",
      configuration: { channelIds: [] },
    });
    const listed = await patch({ configuration: { platform: "chat_a", channelIds: ["C1", "C2"] } });
    expect(listed.body).toMatchObject({
      name: "Renamed",
      configuration: { platform: "chat_a", channelIds: ["C1", "C2"] },
    });
    for (const body of [
      {},
      { agentId },
      { platform: "chat_b" },
      { configuration: { chatIds: ["1"] } },
      { configuration: { businessMode: true } },
      { configuration: { platform: "chat_b" } },
      { configuration: { channelIds: ["C1", "C1"] } },
      { configuration: { channelIds: Array.from({ length: 101 }, (_, n) => `C${n}`) } },
    ])
      expect((await patch(body)).status).toBe(400);
  });

  test("another businessMode registers the webhook anew; when that fails the change stays and 503 is returned", async () => {
    const connection = await fixture.connectTelegram(t, agentId);
    const patch = (businessMode: boolean) =>
      t.call("PATCH", `${path}/${connection.id}`, { body: { configuration: { businessMode } } });
    expect((await patch(true)).body.configuration.businessMode).toBe(true);
    expect(connection.bot.webhook?.updates).toContain("business_message");
    fixture.telegram.injectFault(fixture.telegram.path(connection.bot, "setWebhook"), "cut before");
    expect((await patch(false)).status).toBe(503);
    const { body } = await t.call("GET", `${path}/${connection.id}`);
    expect(body.configuration.businessMode).toBe(false);
    expect(body.health.checks).toContainEqual({ code: "webhook_url", status: "fail" });
  });
});

describe("POST /v1/chat-connections/:id/disable, /enable, /check", () => {
  test("200: Telegram's webhook goes and comes back", async () => {
    const connection = await fixture.connectTelegram(t, agentId);
    const off = await t.call("POST", `${path}/${connection.id}/disable`);
    expect([off.status, off.body.enabled, connection.bot.webhook]).toEqual([200, false, null]);
    const on = await t.call("POST", `${path}/${connection.id}/enable`);
    expect([on.status, on.body.enabled, connection.bot.webhook?.url]).toEqual([200, true, connection.webhookUrl]);
    fixture.telegram.injectFault(fixture.telegram.path(connection.bot, "deleteWebhook"), "cut before");
    expect((await t.call("POST", `${path}/${connection.id}/disable`)).body.enabled).toBe(false);
  });

  test("200: what /check finds is kept: token, identity, channels, webhook", async () => {
    const connection = await fixture.connectSlack(t, agentId);
    fixture.slack.channels.set("CIN", true).set("COUT", false);
    await t.call("PATCH", `${path}/${connection.id}`, {
      body: { configuration: { channelIds: ["CIN", "COUT", "CNONE"] } },
    });
    await fixture.mention(connection, "hi", { channel: "CELSEWHERE" });
    const { status, body } = await t.call("POST", `${path}/${connection.id}/check`);
    expect([status, body.health.tokenValid, body.health.identityVerified]).toEqual([200, true, true]);
    expect(body.health.checks).toEqual([
      { code: "bot_identity", status: "pass" },
      { code: "channel_membership", status: "pass", subject: "CIN" },
      { code: "channel_membership", status: "fail", subject: "COUT" },
      { code: "channel_membership", status: "fail", subject: "CNONE" },
      // Slack does not tell, but its first verified request did.
      { code: "webhook_url", status: "pass" },
    ]);
    expect((await t.call("GET", `${path}/${connection.id}`)).body.health).toEqual(body.health);

    fixture.slack.bots.delete(connection.bot.token);
    const revoked = (await t.call("POST", `${path}/${connection.id}/check`)).body.health;
    expect([revoked.tokenValid, revoked.identityVerified]).toEqual([false, false]);
    expect(revoked.checks[0]).toEqual({ code: "bot_identity", status: "fail" });
  });

  test("200 from /check when the platform is out of reach: unknown, and the token is not blamed", async () => {
    const connection = await fixture.connectTelegram(t, agentId);
    fixture.telegram.injectFault(fixture.telegram.path(connection.bot, "getMe"), "cut before");
    const { status, body } = await t.call("POST", `${path}/${connection.id}/check`);
    expect([status, body.health.tokenValid]).toEqual([200, true]);
    expect(body.health.checks).toEqual([
      { code: "bot_identity", status: "unknown" },
      { code: "webhook_url", status: "unknown" },
    ]);
  });
});

describe("isolation and deletion", () => {
  test("404 not_found: everywhere for a foreign, missing or deleted connection; 400 for a malformed id", async () => {
    const connection = await fixture.connectTelegram(t, agentId);
    const stranger = await fixture.h.tenant();
    const missing = `cc_${"0".repeat(24)}`;
    const attempts = (id: string): [string, string, object?][] => [
      ["GET", id],
      ["PATCH", id, { name: "x" }],
      ["DELETE", id],
      ["POST", `${id}/enable`],
      ["POST", `${id}/disable`],
      ["POST", `${id}/check`],
      ["GET", `${id}/deliveries`],
    ];
    for (const [method, rest, body] of attempts(connection.id)) {
      const foreign = await stranger.call(method, `${path}/${rest}`, { body });
      const gone = await t.call(method, `${path}/${rest.replace(connection.id, missing)}`, { body });
      expect([foreign.status, foreign.body.error.code]).toEqual([404, "not_found"]);
      expectSameError(foreign, gone);
    }
    for (const [method, rest, body] of attempts("cc_nope"))
      expect((await t.call(method, `${path}/${rest}`, { body })).status).toBe(400);
    expect((await t.call("DELETE", `${path}/${connection.id}`)).status).toBe(204);
    expect((await t.call("DELETE", `${path}/${connection.id}`)).status).toBe(404);
  });

  test("a deleted agent's connections are gone at once", async () => {
    const own = await fixture.tenant();
    const connection = await fixture.connectSlack(own.t, own.agentId);
    expect((await own.t.call("DELETE", `/v1/agents/${own.agentId}`)).status).toBe(204);
    expect((await own.t.call("GET", `${path}/${connection.id}`)).status).toBe(404);
    expect((await own.t.call("GET", path)).body.chatConnections).toEqual([]);
  });

  test("Telegram's webhook goes with a deleted agent and a deleted tenant, and so do the rows", async () => {
    const own = await fixture.tenant();
    const other = await fixture.tenant();
    const [first, second] = [
      await fixture.connectTelegram(own.t, own.agentId),
      await fixture.connectTelegram(other.t, other.agentId),
    ];
    expect([first.bot.webhook, second.bot.webhook]).not.toContain(null);
    expect((await own.t.call("DELETE", `/v1/agents/${own.agentId}`)).status).toBe(204);
    expect(await deleteTenant(fixture.h.sql, other.t.id)).toBe("ended");
    await eventually(async () => {
      const rows = await fixture.h.sql`select 1 from chat_connections where id in (${first.id}, ${second.id})`;
      return rows.length === 0;
    });
    expect([first.bot.webhook, second.bot.webhook]).toEqual([null, null]);
  });

  test("a deleted agent's connection goes although the platform is out of reach", async () => {
    const own = await fixture.tenant();
    const { id, bot } = await fixture.connectTelegram(own.t, own.agentId);
    fixture.telegram.injectFault(fixture.telegram.path(bot, "deleteWebhook"), "cut before");
    expect((await own.t.call("DELETE", `/v1/agents/${own.agentId}`)).status).toBe(204);
    await eventually(async () => (await fixture.h.sql`select 1 from chat_connections where id = ${id}`).length === 0);
    expect(bot.webhook).not.toBeNull();
  });
});
