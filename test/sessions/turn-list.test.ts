import { beforeAll, describe, expect, test } from "bun:test";
import { useAgent } from "../harness/fixture.ts";
import { makeAgent } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

// No worker: it would end what only seems to run.
const { h, t, agentId } = await useAgent();
const otherAgent = await makeAgent(h, t);
const forms = ["a", "b"] as const;

type Turn = {
  readonly id: string;
  readonly agentId: string;
  readonly sessionId: string | null;
  readonly userId: string;
  readonly kind: string;
  readonly status: string;
  readonly acceptedAt: string;
};
type Filter = Partial<Record<"status" | "kind" | "agentId" | "sessionId" | "userId" | "from" | "to", string>>;

const statuses = ["enqueued", "queued", "running", "waiting", "succeeded", "failed", "canceled"];
const kinds = ["session", "generate", "task", "chat"];
const users = ["", "u-1", "u-2"];
const sessions: string[] = [];
/** What the list has to hold, newest first. */
let model: Turn[] = [];

beforeAll(async () => {
  for (const [place, agent] of [agentId, agentId, agentId, otherAgent, otherAgent, otherAgent].entries()) {
    const id = `ss_${String(place).padStart(24, "0")}`;
    await h.sql`insert into sessions (id, tenant_id, agent_id, visible) values (${id}, ${t.id}, ${agent}, true)`;
    sessions.push(id);
  }
  await h.sql`alter table turns drop constraint if exists turns_status_check`;
  // Several turns of a session may be unfinished here, which no index would allow otherwise.
  await h.sql`drop index turns_one_active`;
  let seed = 7;
  const pick = <T>(from: readonly T[]): T => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return from[Math.floor((seed / 2 ** 31) * from.length)] as T;
  };
  const rows = Array.from({ length: 400 }, (_, n) => {
    const kind = pick(kinds);
    const sessionId = kind === "generate" ? null : pick(sessions);
    const place = sessionId === null ? pick([0, 3]) : sessions.indexOf(sessionId);
    return {
      id: `turn_${String(n).padStart(24, "0")}`,
      tenant_id: t.id,
      agent_id: place < 3 ? agentId : otherAgent,
      session_id: sessionId,
      kind,
      status: pick(statuses),
      user_id: pick(users),
      agent_version: 1,
      assistant_message_id: `msg_${n}`,
      // Four at the same moment, as a statement that accepts several writes them.
      accepted_at: new Date(Date.UTC(2026, 0, 1, 0, Math.floor(n / 4))),
    };
  });
  await h.sql`insert into turns ${h.sql(rows)}`;
  model = rows
    .map((row) => ({
      id: row.id,
      agentId: row.agent_id,
      sessionId: row.session_id,
      userId: row.user_id,
      kind: row.kind,
      status: row.status === "enqueued" ? "queued" : row.status,
      acceptedAt: row.accepted_at.toISOString(),
    }))
    .reverse();
});

const list = (filter: Filter, rest: Record<string, string> = {}, form: "a" | "b" = "b") =>
  t.call("GET", `/v1/turns?${new URLSearchParams({ ...filter, ...rest })}`, { form });

/** All pages of a list. */
async function walk(filter: Filter, limit: string, form: "a" | "b" = "b"): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const { status, body } = await list(filter, { limit, ...(cursor === null ? {} : { cursor }) }, form);
    expect(status).toBe(200);
    expect(body.data.length).toBeLessThanOrEqual(Number(limit));
    ids.push(...body.data.map(({ id }: Turn) => id));
    cursor = body.nextCursor;
    if (cursor === null) return ids;
    expect(body.data.length).toBe(Number(limit));
  }
}

const expected = ({ from, to, ...exact }: Filter) =>
  model
    .filter(
      (turn) =>
        Object.entries(exact).every(([field, value]) => turn[field as keyof Turn] === value) &&
        (from === undefined || Date.parse(turn.acceptedAt) >= Date.parse(from)) &&
        (to === undefined || Date.parse(turn.acceptedAt) < Date.parse(to)),
    )
    .map(({ id }) => id);

const values: Record<keyof Filter, readonly string[]> = {
  status: ["queued", "running", "waiting", "succeeded", "failed", "canceled"],
  kind: kinds,
  agentId: [agentId, otherAgent],
  sessionId: [],
  userId: users,
  from: ["2026-01-01T00:20:00Z", "2026-01-01T01:20:00.001+01:00", "2027-01-01T00:00:00Z"],
  to: ["2026-01-01T00:20:00Z", "2026-01-01T01:20:00.001+01:00", "2025-01-01T00:00:00Z"],
};
const valuesOf = (field: keyof Filter) => (field === "sessionId" ? sessions : values[field]);
const fields = Object.keys(values) as (keyof Filter)[];
const isReversed = ({ from, to }: Filter) =>
  from !== undefined && to !== undefined && Date.parse(to) < Date.parse(from);

describe("the list of turns", () => {
  test.each(forms)("holds all of them, newest first, over pages of any size, form %s", async (form) => {
    for (const limit of ["1", "7", "50", "200"]) expect(await walk({}, limit, form)).toEqual(expected({}));
    const { body } = await list({}, {}, form);
    expect(body.data.length).toBe(50);
    expect(body.data[0]).toMatchObject(model[0] as object);
  });

  test.each(fields)("by %s alone is what a filter of all leaves", async (field) => {
    for (const value of valuesOf(field))
      expect([value, await walk({ [field]: value }, "23")]).toEqual([value, expected({ [field]: value })]);
  });

  test.each(fields.flatMap((one, place) => fields.slice(place + 1).map((other) => [one, other] as const)))(
    "by %s and %s together too",
    async (one, other) => {
      for (const first of valuesOf(one))
        for (const second of valuesOf(other)) {
          const filter: Filter = { [one]: first, [other]: second };
          if (isReversed(filter)) continue;
          expect([filter, await walk(filter, "200")]).toEqual([filter, expected(filter)]);
        }
    },
  );

  test("by all filters at once", async () => {
    for (const turn of model.slice(0, 60)) {
      const { id: _, acceptedAt, sessionId, ...rest } = turn;
      const filter = { ...rest, ...(sessionId === null ? {} : { sessionId }), from: acceptedAt };
      expect(await walk(filter, "5")).toEqual(expected(filter));
      const before = { ...filter, to: acceptedAt };
      expect(await walk(before, "5")).toEqual([]);
    }
  });

  test("400 invalid_cursor: of other filters", async () => {
    const { body } = await list({ status: "failed" }, { limit: "1" });
    const cursor = body.nextCursor;
    expect(cursor).toBeString();
    for (const filter of [{}, { status: "canceled" }, { status: "failed", userId: "" }] as Filter[])
      expect(statusAndCode(await list(filter, { cursor }))).toEqual([400, "invalid_cursor"]);
    expect(statusAndCode(await list({}, { cursor: "x" }))).toEqual([400, "invalid_cursor"]);
    expect((await list({ status: "failed" }, { cursor })).status).toBe(200);
  });

  test.each([
    ["status", "enqueued"],
    ["status", ""],
    ["kind", "sessions"],
    ["agentId", "ag_1"],
    ["sessionId", ""],
    ["from", "2026-01-01"],
    ["from", "2026-02-30T00:00:00Z"],
    ["to", "yesterday"],
    ["userId", "u".repeat(257)],
    ["limit", "0"],
    ["limit", "201"],
    ["order", "asc"],
  ])("400 validation_failed (A: invalid_request): %s=%s, and the field is named", async (field, value) => {
    for (const form of forms) {
      const refused = await list({ [field]: value }, {}, form);
      expect(statusAndCode(refused)).toEqual([400, form === "a" ? "invalid_request" : "validation_failed"]);
      expect(refused.body.error.message).toContain(field);
    }
  });

  test.each([{}, { sort: "longest" }])(
    "400 validation_failed: `to` before `from`; where both are one moment none are listed: %o",
    async (sort) => {
      const at = (ms: number) => new Date(Date.parse("2026-01-01T00:20:00Z") + ms).toISOString();
      const refused = await list({ from: at(1), to: at(0) }, sort);
      expect(statusAndCode(refused)).toEqual([400, "validation_failed"]);
      expect(refused.body.error.details.issues).toEqual([{ path: "to", message: "must not be before from" }]);
      expect((await list({ from: at(0), to: at(0) }, sort)).body.data).toEqual([]);
    },
  );

  test("ids that are missing or another tenant's have no turns, and a stranger sees none of these", async () => {
    const stranger = await h.tenant();
    expect((await stranger.call("GET", "/v1/turns")).body).toEqual({ data: [], nextCursor: null });
    for (const query of [`agentId=${agentId}`, `sessionId=${sessions[0]}`, "userId=u-1", "status=failed", "kind=chat"])
      expect((await stranger.call("GET", `/v1/turns?${query}`)).body.data).toEqual([]);
    const missing = { agentId: `ag_${"z".repeat(24)}`, sessionId: `ss_${"z".repeat(24)}` };
    for (const [field, value] of Object.entries(missing))
      expect((await list({ [field]: value } as Filter)).body.data).toEqual([]);
    const [turn] = model;
    expect(statusAndCode(await stranger.call("GET", `/v1/turns/${turn?.id}`))).toEqual([404, "not_found"]);
    expect(statusAndCode(await t.call("GET", `/v1/turns/turn_${"z".repeat(24)}`))).toEqual([404, "not_found"]);
    expect(statusAndCode(await t.call("GET", "/v1/turns/turn_1"))).toEqual([400, "validation_failed"]);
  });
});
