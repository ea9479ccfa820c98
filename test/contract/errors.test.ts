import { afterAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { createApp } from "../../src/app.ts";
import { createContext } from "../../src/kernel/context.ts";
import { openDatabase } from "../../src/kernel/database/client.ts";
import type { Form } from "../../src/kernel/errors.ts";
import { databaseWaitMs } from "../../src/kernel/limits.ts";
import { makeClientToken } from "../harness/client-tokens.ts";
import type { ApiResponse, Harness, TestTenant } from "../harness/harness.ts";
import { startHarness } from "../harness/harness.ts";
import { callOf } from "./calls.ts";
import { ask, type Cause, missing } from "./causes.ts";
import { agentCauses } from "./causes-agents.ts";
import { budgetCauses } from "./causes-budgets.ts";
import { memberCauses } from "./causes-members.ts";
import { restCauses } from "./causes-rest.ts";
import { turnCauses } from "./causes-turns.ts";
import { webhookCauses } from "./causes-webhooks.ts";
import {
  type Contract,
  clientRefused,
  encoded,
  errorsOf,
  invalidRow,
  pathOf,
  roleRefused,
  sharedErrors,
  spelled,
  storedTooMuch,
} from "./contract.ts";
import { formsWith, Ledger } from "./ledger.ts";
import { Scene } from "./scene.ts";
import { contractOf, operations } from "./table.ts";
import { type Call, send, useWorld } from "./world.ts";

const ledger = new Ledger();
const w = await useWorld();
const s = await Scene.open(w);
const away = askWithoutDatabase();
/** Requests that were answered with an error. */
const refused = new Set<string>();
afterAll(() => {
  process.stdout.write(`contract: ${ledger.met} of ${ledger.total} errors (operation, cause, form) provoked\n`);
});

/** What a response must be to count as this error: its status, its code, and nothing but the envelope. */
function verdict({ status, headers, body }: ApiResponse): unknown[] {
  const { code, message, requestId } = body?.error ?? {};
  const plain = typeof message === "string" && message !== "" && requestId === headers.get("x-request-id");
  return [status, code, plain && Object.keys(body).length === 1];
}

function expectError(contract: Contract, row: string, form: Form, response: ApiResponse): void {
  const { status, code } = spelled(row, form) ?? { status: 0, code: "" };
  expect([contract.op, form, ...verdict(response)]).toEqual([contract.op, form, status, code, true]);
  expect([contract.op, response.headers.get("api-form")]).toEqual([
    contract.op,
    status === 401 ? expect.any(String) : form,
  ]);
  if (status === 429) expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  refused.add(String(response.headers.get("x-request-id")));
  ledger.note(contract.op, row, form);
}

/** A call whose ids are of the right shape and whose body is empty: enough for what is refused before it is looked at. */
function emptyCall({ op, ids = {}, body }: Contract): Call {
  const params = Object.fromEntries(Object.entries(ids).map(([name, [prefix]]) => [name, missing(prefix)]));
  const others = op.includes(":version") ? { version: "1" } : { userId: "anna", toolCallId: "call_1" };
  return { params: { ...others, ...params }, ...(body === "json" ? { body: {} } : {}) };
}

/** A process takes 64 requests of a tenant at once, and more wait for a second only. */
const askedAtOnce = 32;

/** Every operation that has the error, in each form in which it has it. */
function askedFor(row: string, among: readonly Contract[] = operations) {
  return among
    .filter((contract) => errorsOf(contract).includes(row))
    .flatMap((contract) => formsWith(contract, row).map((form) => ({ contract, form })));
}

/** Asks operations for an error, all at once. */
function askAll(asked: ReturnType<typeof askedFor>, t: TestTenant, change: Partial<Call> = {}) {
  return Promise.all(
    asked.map(async ({ contract, form }) => {
      const response = await send(t, contract.op, form, { ...emptyCall(contract), ...change });
      return { contract, form, response };
    }),
  );
}

/** Meets one of the shared errors everywhere. */
async function everywhere(row: string, t: TestTenant, change?: Partial<Call>, among?: readonly Contract[]) {
  const asked = askedFor(row, among);
  for (let first = 0; first < asked.length; first += askedAtOnce)
    for (const { contract, form, response } of await askAll(asked.slice(first, first + askedAtOnce), t, change))
      expectError(contract, row, form, response);
}

describe("every operation returns", () => {
  test(sharedErrors.unauthorized, async () => {
    await everywhere(sharedErrors.unauthorized, s.t, { token: null });
    await everywhere(sharedErrors.unauthorized, s.t, { token: `parley_${"0".repeat(40)}` });
  });

  test(sharedErrors.subscription, async () => {
    const inactive = await Scene.open(w);
    await inactive.setTenant({ subscription: "inactive" });
    await everywhere(sharedErrors.subscription, inactive.t);
  });

  test(sharedErrors.pace, async () => {
    const limited = await Scene.open(w);
    await limited.setTenant({ rate_limit: 0 });
    await everywhere(sharedErrors.pace, limited.t);
  });

  test(`${clientRefused} to a client token, but for those that it is good for`, async () => {
    const { token } = await makeClientToken(s.t, { agentId: await s.theAgent() });
    const others = operations.filter(({ client }) => client !== true);
    await everywhere(clientRefused, s.t, { token }, others);
  });

  test(`${roleRefused} to a reader, but for what reads`, async () => {
    const { token } = await s.parley.apiKeys.create({ name: "a reader", role: "reader" });
    await everywhere(roleRefused, s.t, { token });
  });

  test(sharedErrors.internal, async () => {
    const broken: Harness = await startHarness();
    const t = await broken.tenant();
    await broken.sql`alter table api_keys rename to elsewhere`;
    await everywhere(sharedErrors.internal, t);
    await broken.stop();
  });
});

/** Asks a process whose database is away: each request waits ten seconds for it, so the other tests run meanwhile. */
async function askWithoutDatabase() {
  const { config, log, relay, publicUrl } = w.h.ctx;
  const sql = openDatabase({ url: "postgres://nobody@127.0.0.1:9/none", max: 10, applicationName: "parley-test" });
  const encryptionKey = Buffer.alloc(32);
  // Several processes, none of which has more requests in flight than it takes.
  const apps = Array.from({ length: 8 }, () =>
    createApp(createContext({ config, log, sql, relay, redis: null, encryptionKey, publicUrl })),
  );
  let asked = 0;
  const app: Harness["app"] = (request) => {
    asked += 1;
    return (apps[asked % apps.length] as Harness["app"])(request);
  };
  const startedAt = Date.now();
  const responses = await askAll(askedFor(sharedErrors.away), tenantOn(app, s.t));
  const tookMs = Date.now() - startedAt;
  await sql.end({ timeout: 0 });
  return { responses, tookMs };
}

/** The same tenant at another process. */
function tenantOn(app: Harness["app"], t: TestTenant): TestTenant {
  return {
    ...t,
    async call(method, path, options = {}) {
      const headers = {
        authorization: `Bearer ${t.token}`,
        ...(options.form === undefined ? {} : { "api-form": options.form }),
        ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      };
      const payload = options.body === undefined ? null : JSON.stringify(options.body);
      const response = await app(new Request(`http://parley.test${path}`, { method, headers, body: payload }));
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
  };
}

/** One test for each form in which an operation can meet an error. */
function each(contract: Contract, row: string, meet: (form: Form) => Promise<ApiResponse>): void {
  for (const form of formsWith(contract, row)) {
    const { status, code } = spelled(row, form) ?? { status: 0, code: "" };
    test(`${contract.op} ${status} ${code} in form ${form}`, async () => {
      expectError(contract, row, form, await meet(form));
    });
  }
}

describe("a field that is not known", () => {
  for (const contract of operations)
    each(contract, invalidRow(contract), (form) =>
      send(s.t, contract.op, form, { ...emptyCall(contract), query: { surprise: "1" } }),
    );
});

describe("a body of more than 8 MiB", () => {
  const body = new Uint8Array(8 * 1024 * 1024 + 1).fill(32);
  for (const contract of operations)
    if (contract.body === "json")
      each(contract, "413 payload_too_large", (form) => send(s.t, contract.op, form, { ...emptyCall(contract), body }));
});

describe("a body of more than 100,000 values", () => {
  const body = `[${"{},".repeat(100_000)}0]`;
  for (const contract of operations)
    if (contract.body === "json")
      each(contract, "413 payload_too_large", (form) => send(s.t, contract.op, form, { ...emptyCall(contract), body }));
});

describe("a body with a Content-Encoding", () => {
  const compressed = { body: gzipSync("{}"), headers: { "content-encoding": "gzip" } };
  for (const contract of operations)
    if (contract.body !== undefined) each(contract, encoded, (form) => ask(s, contract.op, form, compressed));
});

describe("storing something past the limit", () => {
  const opened = Scene.open(w);
  for (const contract of operations)
    if (contract.stores === true)
      each(contract, storedTooMuch, async (form) => {
        const full = await opened;
        const call = await callOf(full, contract.op, form);
        await full.setTenant({ stored_mib: 0 });
        const refused = await send(full.t, contract.op, form, call);
        await full.setTenant({ stored_mib: null });
        return refused;
      });
});

describe("an id that nothing has", () => {
  for (const contract of operations)
    for (const [name, [prefix, row]] of Object.entries(contract.ids ?? {}))
      if (row !== null)
        each(contract, row, (form) => ask(s, contract.op, form, { params: { [name]: missing(prefix) } }));
});

describe("a cursor that no list gave out", () => {
  const row = "400 invalid_cursor | 400 invalid_request";
  for (const contract of operations)
    if (contract.errors.includes(row))
      each(contract, row, (form) => ask(s, contract.op, form, { query: { cursor: "bm9uZQ" } }));
});

describe("an Idempotency-Key", () => {
  for (const contract of operations) {
    if (contract.key === undefined) continue;
    each(contract, "422 idempotency_key_reused", async (form) => {
      const key = crypto.randomUUID();
      const { body } = await s.t.call("POST", "/v1/prompts", {
        body: { name: key, template: "x" },
        headers: { "idempotency-key": key },
      });
      // A tenant has a bound of prompts, and there are more operations than that.
      await s.t.call("DELETE", `/v1/prompts/${body.id}`);
      return ask(s, contract.op, form, { headers: { "idempotency-key": key } });
    });
    if (contract.key === "response") each(contract, "409 idempotency_in_progress", (form) => whileHeld(contract, form));
  }
});

/** Asks while another request with the same key is under way: one that has done its work, and not stored its response. */
async function whileHeld(contract: Contract, form: Form): Promise<ApiResponse> {
  const key = crypto.randomUUID();
  const call = await callOf(s, contract.op, form);
  const sendIt = () => send(s.t, contract.op, form, { ...call, headers: { ...call.headers, "idempotency-key": key } });
  await sendIt();
  const { count } = await s.sql`
    update idempotency_keys set status = null, headers = null, sealed_body = null, owner = 'another',
      leased_until = now() + interval '1 hour'
    where tenant_id = ${s.t.id} and key = ${key}`;
  expect(count).toBe(1);
  return sendIt();
}

function provoke(cause: Cause): void {
  for (const op of cause.ops) {
    const contract = contractOf(op);
    if (!errorsOf(contract).includes(cause.row)) throw new Error(`${op} has no ${cause.row} in the table.`);
    each(contract, cause.row, async (form) => cause.meet(cause.alone ? await Scene.open(w) : s, form, op));
  }
}

describe("turns, sessions and approvals", () => turnCauses.forEach(provoke));
describe("agents and skills", () => agentCauses.forEach(provoke));
describe("members", () => memberCauses.forEach(provoke));
describe("webhooks", () => webhookCauses.forEach(provoke));
describe("budgets", () => budgetCauses.forEach(provoke));
describe("all else", () => restCauses.forEach(provoke));

describe("without its database every operation returns", () => {
  test(sharedErrors.away, async () => {
    const { responses, tookMs } = await away;
    for (const { contract, form, response } of responses) expectError(contract, sharedErrors.away, form, response);
    // 10 s for all of them, and what a busy machine takes beside.
    expect(tookMs).toBeLessThan(3 * databaseWaitMs);
  });
});

describe("the table", () => {
  test("has no error that nothing provokes, beyond those with a reason", () => {
    expect(ledger.unexcused()).toEqual([]);
    expect(ledger.idleExcuses()).toEqual([]);
  });

  test("spells every path once", () => {
    const ops = operations.map(({ op }) => op);
    expect(new Set(ops).size).toBe(ops.length);
    for (const contract of operations) expect(pathOf(contract)).toStartWith("/v1/");
  });
});

test("what was refused left no audit event", async () => {
  expect(refused.size).toBeGreaterThan(0);
  // A change of a chat connection is saved before the platform is asked, and its error says so.
  const audited = await w.h.sql`
    select action, request_id from audit_events
    where request_id = any(${[...refused]}) and action <> 'chat_connection.update'`;
  expect([...audited]).toEqual([]);
});
