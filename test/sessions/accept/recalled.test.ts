import { describe, expect, spyOn, test } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { useService } from "../../harness/fixture.ts";
import { eventually, type TestTenant } from "../../harness/harness.ts";
import { inProcess } from "../../harness/runtimes.ts";
import { makeAgent } from "../../harness/seed.ts";

/**
 * A turn of whom an API key was recalled to be is accepted in the statement that looks the key up: so whatever
 * happened to the key or its tenant since holds for the very next request.
 */
const h = await useService({ worker: true });

const say = (text = "Hi") => ({ message: { id: newId("message"), role: "user", parts: [{ type: "text", text }] } });

/** A tenant whose key was looked up just now, with an agent and a session of it. */
async function known(form: "a" | "b" = "b") {
  const t = await h.tenant({ form });
  const agentId = await makeAgent(h, t);
  const sessions = `/v1/agents/${agentId}/sessions`;
  const first = await t.call("POST", sessions, { body: { ...say(), stream: false }, form: "b" });
  expect(first.status).toBe(201);
  const session = first.headers.get("location") ?? "";
  // Out of this process nobody sees what it recalls; the responses are the same.
  if (inProcess) expect(h.ctx.authenticator.recall(`Bearer ${t.token}`)?.tenant.id).toBe(t.id as never);
  return { t, agentId, sessions, session };
}

async function written({ id }: TestTenant) {
  const [row] = await h.sql`
    select (select count(*)::int from sessions where tenant_id = ${id}) as sessions,
      (select count(*)::int from turns where tenant_id = ${id}) as turns`;
  return { ...row };
}

/** Sends the same turn to a new session and to the one there is, as a stream and as JSON; all responses. */
async function ask(of: Awaited<ReturnType<typeof known>>, more: object = {}) {
  const responses = [];
  for (const path of [of.sessions, of.session])
    for (const stream of [true, false])
      responses.push(await of.t.call("POST", path, { body: { ...say(), stream }, ...more }));
  return responses;
}

test("further turns are accepted without looking the key up first", async () => {
  const of = await known();
  const lookUps = inProcess ? spyOn(h.ctx.authenticator, "authenticate") : null;
  const responses = await ask(of);
  expect(responses.map(({ status }) => status)).toEqual([201, 201, 200, 200]);
  expect(responses[1]?.body.message.parts.at(-1)).toMatchObject({ type: "text" });
  expect(await written(of.t)).toEqual({ sessions: 3, turns: 5 });
  expect(lookUps?.mock.calls.length ?? 0).toBe(0);
  // Anything else looks it up; the statement that accepts turns says itself what is wrong with one.
  expect((await of.t.call("GET", of.sessions)).status).toBe(200);
  expect((await of.t.call("POST", `/v1/agents/${newId("agent")}/sessions`, { body: say() })).status).toBe(404);
  expect(lookUps?.mock.calls.length ?? 1).toBe(1);
  lookUps?.mockRestore();
});

/** What may have happened since, and what the next turn is told of it. */
const since: Record<string, { readonly sql: string; readonly told: readonly [number, string] }> = {
  "the key is deleted": { sql: "delete from api_keys where tenant_id = $1", told: [401, "unauthorized"] },
  "the key has expired": {
    sql: "update api_keys set expires_at = now() - interval '1 second' where tenant_id = $1",
    told: [401, "unauthorized"],
  },
  "the tenant is deleted": {
    sql: "update tenants set deleted_at = now(), deleting_at = now() where id = $1",
    told: [401, "unauthorized"],
  },
  "the tenant is being deleted": {
    sql: "update tenants set deleting_at = now() where id = $1",
    told: [409, "tenant_deleting"],
  },
  "the subscription has ended": {
    sql: "update tenants set subscription = 'inactive' where id = $1",
    told: [402, "subscription_required"],
  },
  "the credit is used up": {
    sql: "update tenants set usage_credit = 0 where id = $1",
    told: [402, "usage_credit_required"],
  },
  "the day's quota is none": {
    sql: "update tenants set quota_turns_per_day = 0 where id = $1",
    told: [429, "quota_exceeded"],
  },
  "no turn may be queued": { sql: "update tenants set queued_turns = 0 where id = $1", told: [429, "too_many_turns"] },
  "no request is allowed": { sql: "update tenants set rate_limit = 0 where id = $1", told: [429, "rate_limited"] },
};

describe("the next turn knows that", () => {
  for (const [what, { sql, told }] of Object.entries(since)) {
    test(what, async () => {
      const of = await known();
      const before = await written(of.t);
      await h.sql.unsafe(sql, [of.t.id]);
      const responses = await ask(of);
      expect(responses.map(({ status, body }) => [status, body.error.code])).toEqual(responses.map(() => [...told]));
      expect(await written(of.t)).toEqual(before);
    });
  }

  test("the tenant's turns are counted", async () => {
    const of = await known();
    await h.sql`update tenants set running_turns = 0 where id = ${of.t.id}`;
    const asked = of.t.call("POST", of.sessions, { body: say() });
    const isParked = async () =>
      (await h.sql`select 1 from turns where tenant_id = ${of.t.id} and status = 'queued' and parked_at is not null`)
        .length;
    await eventually(async () => (await isParked()) === 1);
    await h.sql`update tenants set running_turns = null where id = ${of.t.id}`;
    expect((await asked).status).toBe(201);
  });

  test("the tenant speaks another form", async () => {
    const of = await known("a");
    await h.sql`update tenants set form = 'b' where id = ${of.t.id}`;
    // Form A's session is seen after its first success, form B's at once.
    const response = await of.t.call("POST", of.sessions, { body: { ...say("[[sim: fail]]"), stream: false } });
    const [row] = await h.sql`
      select visible from sessions where tenant_id = ${of.t.id} order by created_at desc limit 1`;
    expect([response.status >= 200, row?.visible]).toEqual([true, true]);
  });
});

test("401 unauthorized: a key that is gone learns nothing by what else is wrong with its request", async () => {
  const of = await known();
  await h.sql`delete from api_keys where tenant_id = ${of.t.id}`;
  const wrong: [string, unknown][] = [
    [of.sessions, { message: 5 }],
    [of.sessions, "{"],
    [`${of.sessions}?x=1`, say()],
    [`/v1/agents/${newId("agent")}/sessions`, say()],
    [`${of.sessions}/${newId("session")}`, say()],
    [of.session, { ...say(), trigger: "regenerate-message" }],
    [of.session, { ...say(), onBusy: "enqueue" }],
  ];
  for (const [path, body] of wrong) {
    const { status, body: told } = await of.t.call("POST", path, { body });
    expect([path, status, told.error.code]).toEqual([path, 401, "unauthorized"]);
  }
});

test("what is wrong with the request of a good key is told as ever, and a busy session is busy", async () => {
  const of = await known();
  const wrong: [string, unknown, number][] = [
    [of.sessions, { message: 5 }, 400],
    [of.sessions, "{", 400],
    [`${of.sessions}?x=1`, say(), 400],
    [`${of.sessions}/${newId("session")}`, say(), 404],
  ];
  for (const [path, body, status] of wrong)
    expect([path, (await of.t.call("POST", path, { body })).status]).toEqual([path, status]);
  const sessionId = of.session.split("/").at(-1) ?? "";
  await h.sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, input, assistant_message_id, status)
    values (${newId("turn")}, ${of.t.id}, ${of.agentId}, ${sessionId}, 'session', 1, '{}', ${newId("message")}, 'waiting')`;
  expect((await of.t.call("POST", of.session, { body: say() })).body.error.code).toBe("session_busy");
  const waits = of.t.call("POST", of.session, { body: { ...say(), onBusy: "enqueue" } });
  const hasLine = async () => (await h.sql`select 1 from sessions where id = ${sessionId} and line = 1`).length;
  await eventually(async () => (await hasLine()) === 1);
  expect((await of.t.call("POST", `${of.session}/cancel`)).status).toBe(202);
  expect((await waits).status).toBe(200);
});

test("a turn whose answer fails was accepted once", async () => {
  const of = await known();
  const before = await written(of.t);
  const { status } = await of.t.call("POST", of.sessions, { body: { ...say("[[sim: status=500]]"), stream: false } });
  expect(status).toBeGreaterThanOrEqual(400);
  const after = await written(of.t);
  expect(after).toEqual({ sessions: Number(before.sessions) + 1, turns: Number(before.turns) + 1 });
});

test("of turns that are accepted at once only those of good keys are", async () => {
  const [good, gone, poor] = [await known(), await known(), await known()];
  await h.sql`delete from api_keys where tenant_id = ${gone.t.id}`;
  await h.sql`update tenants set usage_credit = 0 where id = ${poor.t.id}`;
  const responses = await Promise.all(
    Array.from({ length: 30 }, (_, n) => {
      const of = [good, gone, poor][n % 3] as typeof good;
      return of.t.call("POST", of.sessions, { body: { ...say(), stream: false } });
    }),
  );
  expect(responses.map(({ status }) => status)).toEqual(responses.map((_, n) => [201, 401, 402][n % 3] as number));
  expect(await written(good.t)).toEqual({ sessions: 11, turns: 11 });
  for (const of of [gone, poor]) expect(await written(of.t)).toEqual({ sessions: 1, turns: 1 });
});

test.skipIf(!inProcess)("who has limits is not recalled, nor who was refused", async () => {
  const { authenticator } = h.ctx;
  const t = await h.tenant();
  const header = `Bearer ${t.token}`;
  expect(authenticator.recall(header)).toBeNull();
  await authenticator.authenticate(header);
  expect(authenticator.recall(header)?.tenant.id).toBe(t.id as never);
  await h.sql`update tenants set rate_limit = 5 where id = ${t.id}`;
  await authenticator.authenticate(header);
  expect(authenticator.recall(header)).toBeNull();
  await h.sql`update tenants set rate_limit = null where id = ${t.id}`;
  await authenticator.authenticate(header);
  await h.sql`delete from api_keys where tenant_id = ${t.id}`;
  await expect(authenticator.authenticate(header)).rejects.toMatchObject({ reason: "unauthorized" });
  expect(authenticator.recall(header)).toBeNull();
  for (const none of [null, "", "Bearer", "Bearer parley_x", "Basic abc"])
    expect(authenticator.recall(none)).toBeNull();
});
