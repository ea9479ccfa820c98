import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { sweepWebhooks } from "../../src/webhooks/sweep.ts";
import { useService } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { insertDeliveries, useWebhooks } from "../harness/webhook-fixture.ts";

const h = await useWebhooks();
const t = await h.tenant();
/** One whose tenants may name public addresses only. */
const strict = await useService({ env: { ALLOW_PRIVATE_NETWORK: "" }, worker: true });
const root = "/v1/webhooks";
const forms = ["a", "b"] as const;

describe("POST /v1/webhooks", () => {
  test.each(forms)("201 with the secret, which nothing else shows, form %s", async (form) => {
    const body = { url: `${h.receiver.url}/a`, events: ["turn.ended", "run.ended"] };
    const made = await t.call("POST", root, { body, form });
    const { secret, ...webhook } = made.body;
    expect(made.status).toBe(201);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(webhook).toEqual({
      id: expect.stringMatching(/^wh_[0-9a-z]{24}$/),
      ...body,
      description: "",
      enabled: true,
      agentIds: null,
      disabledReason: null,
      failingSince: null,
      previousSecretExpiresAt: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await t.call("GET", `${root}/${webhook.id}`)).body).toEqual(webhook);
    expect((await t.call("GET", root)).body.data).toContainEqual(webhook);
    const [row] = await h.sql`select * from webhooks where id = ${webhook.id}`;
    expect(JSON.stringify(row)).not.toContain(secret.slice(6, -1));
    expect(Buffer.from(row?.sealedSecret).includes(secret)).toBe(false);
  });

  test("400 validation_failed: a type that there is not, none, or one twice; the field is named", async () => {
    for (const events of [["turn.begun"], [], ["turn.ended", "turn.ended"], "turn.ended"]) {
      const { status, body } = await t.call("POST", root, { body: { url: `${h.receiver.url}/a`, events } });
      expect([status, body.error.code]).toEqual([400, "validation_failed"]);
      expect(body.error.details.issues[0].path).toStartWith("/events");
    }
  });

  test("the same Idempotency-Key makes one webhook, and responds with its secret again", async () => {
    const options = {
      body: { url: `${h.receiver.url}/a`, events: ["turn.ended"] },
      headers: { "idempotency-key": "one" },
    };
    const [first, second] = [await t.call("POST", root, options), await t.call("POST", root, options)];
    expect(second.body).toEqual(first.body);
    await t.parley.webhooks.delete(first.body.id);
    // What a stored response tells is erased with the webhook.
    await eventually(async () => (await t.call("POST", root, options)).status === 422);
  });
});

describe("an address", () => {
  const urls = [
    "http://hooks.example.org/",
    "https://127.0.0.1/",
    "https://10.0.0.1/",
    "https://[::1]/",
    "https://localhost/",
    "https://printer.local/",
    "https://user:word@hooks.example.org/",
    "ftp://hooks.example.org/",
    "hooks",
  ];

  test.each(urls)("400 validation_failed: %s, at creation and change, and changes nothing", async (url) => {
    const s = await strict.tenant();
    const { id } = await s.parley.webhooks.create({ url: "https://hooks.example.org/", events: ["turn.ended"] });
    for (const response of [
      await s.call("POST", root, { body: { url, events: ["turn.ended"] } }),
      await s.call("PATCH", `${root}/${id}`, { body: { url } }),
    ])
      expect([...statusAndCode(response), response.body.error.details.issues[0].path]).toEqual([
        400,
        "validation_failed",
        "/url",
      ]);
    const { data } = await s.parley.webhooks.list();
    expect(data.map((webhook) => webhook.url)).toEqual(["https://hooks.example.org/"]);
  });

  test("that is not public is refused when it is connected to, whatever was stored", async () => {
    const s = await strict.tenant();
    const { id } = await s.parley.webhooks.create({ url: "https://hooks.example.org/", events: ["run.ended"] });
    await strict.sql`update webhooks set url = ${h.receiver.url.replace("http:", "https:")} where id = ${id}`;
    await insertDeliveries(strict, s, { id });
    const attempts = await eventually(async () => {
      const [delivery] = (await s.parley.webhookDeliveries.list(id)).data;
      return delivery?.attempts.length === 1 ? delivery.attempts : null;
    });
    expect(attempts).toMatchObject([{ statusCode: null, error: "address_refused" }]);
    expect(await s.parley.webhooks.test(id)).toMatchObject({ status: "failed" });
  });
});

describe("PATCH, GET and DELETE", () => {
  test("a change shows, and leaves an audit event that names the fields; one that changes nothing leaves none", async () => {
    const hook = await h.hook(t, ["turn.ended"], { description: "one" });
    const changed = await t.parley.webhooks.update(hook.id, {
      description: "two",
      enabled: false,
      events: ["turn.ended"],
    });
    expect(changed).toMatchObject({ description: "two", enabled: false, url: hook.url, disabledReason: null });
    await t.parley.webhooks.update(hook.id, { description: "two" });
    const { data } = await t.parley.auditEvents.list({ resourceId: hook.id });
    expect(data.map(({ action, changes }) => [action, changes])).toEqual([
      ["webhook.update", ["description", "enabled"]],
      ["webhook.create", ["url", "events", "description"]],
    ]);
  });

  test("a list in pages, newest first, of the own tenant only", async () => {
    const own = await h.tenant();
    const ids = [];
    for (let made = 0; made < 5; made += 1) ids.unshift((await h.hook(own, ["turn.ended"])).id);
    const first = await own.parley.webhooks.list({ limit: 3 });
    const second = await own.parley.webhooks.list({ limit: 3, cursor: first.nextCursor ?? "" });
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids);
    expect(second.nextCursor).toBeNull();
    const other = await t.call("GET", `${root}?cursor=${first.nextCursor}x`);
    expect(statusAndCode(other)).toEqual([400, "invalid_cursor"]);
  });

  test("200: deliveries in pages and by status; 400 invalid_cursor for the cursor of another list", async () => {
    const hook = await h.hook(t, ["run.ended"], { enabled: false });
    const pending = await insertDeliveries(h, t, hook, 3);
    const { id } = await t.parley.webhooks.test(hook.id);
    const list = t.parley.webhookDeliveries;
    const first = await list.list(hook.id, { limit: 3 });
    const rest = await list.list(hook.id, { limit: 3, cursor: first.nextCursor ?? "" });
    expect([...first.data, ...rest.data].map((delivery) => delivery.id).sort()).toEqual([...pending, id].sort());
    expect((await list.list(hook.id, { status: "succeeded" })).data.map((delivery) => delivery.id)).toEqual([id]);
    const other = `${root}/${hook.id}/deliveries?status=pending&cursor=${first.nextCursor}`;
    expect(statusAndCode(await t.call("GET", other))).toEqual([400, "invalid_cursor"]);
  });
});

describe("POST …/rotate-secret", () => {
  test("both secrets verify for 24 hours, an older one not at all, and then the new one alone", async () => {
    const hook = await h.hook(t, ["run.ended"]);
    const send = async () => {
      const sent = h.receiver.asked(hook.path).length;
      await t.parley.webhooks.test(hook.id);
      return h.receiver.asked(hook.path)[sent];
    };
    const verifies = (secret: string, request: Awaited<ReturnType<typeof send>>, body = request?.text ?? "") => {
      try {
        new Webhook(secret).verify(body, request?.headers as Record<string, string>);
        return true;
      } catch {
        return false;
      }
    };
    const rotated = await t.parley.webhooks.rotateSecret(hook.id);
    const hours = (Date.parse(rotated.previousSecretExpiresAt ?? "") - Date.now()) / 3_600_000;
    expect(Math.abs(hours - 24)).toBeLessThan(0.1);
    expect(rotated.secret).not.toBe(hook.secret);
    const both = await send();
    expect(String(both?.headers["webhook-signature"]).split(" ").length).toBe(2);
    expect([verifies(hook.secret, both), verifies(rotated.secret, both)]).toEqual([true, true]);
    expect(verifies(rotated.secret, both, `${both?.text} `)).toBe(false);
    const again = await t.parley.webhooks.rotateSecret(hook.id);
    const newer = await send();
    expect([hook, rotated, again].map(({ secret }) => verifies(secret, newer))).toEqual([false, true, true]);
    await h.sql`update webhooks set previous_secret_until = now() where id = ${hook.id}`;
    const alone = await send();
    expect([rotated, again].map(({ secret }) => verifies(secret, alone))).toEqual([false, true]);
    expect((await t.parley.webhooks.get(hook.id)).previousSecretExpiresAt).toBeNull();
    await sweepWebhooks(h.sql);
    const [row] = await h.sql`select sealed_previous_secret from webhooks where id = ${hook.id}`;
    expect(row?.sealedPreviousSecret).toBeNull();
  });
});
