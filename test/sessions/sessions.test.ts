import { describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { useTenant } from "../harness/fixture.ts";
import type { ApiResponse, TestTenant } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { open, play, script, sessionPath } from "../harness/turns.ts";

const { h, t } = await useTenant({ worker: true });
const other = await h.tenant();

const ids = ({ body }: ApiResponse) => body.data.map(({ id }: { id: string }) => id);

async function session(tenant: TestTenant, agentId: string, fields: object = {}): Promise<string> {
  const played = await play(tenant, agentId, null, { message: script('text="fine"'), stream: false, ...fields });
  expect(played.status).toBe(201);
  return played.sessionId;
}

/** Reads a list page by page; `path` has a query already. */
async function walk(tenant: TestTenant, path: string, from = ""): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = from; cursor !== null; ) {
    const page: ApiResponse = await tenant.call("GET", `${path}${cursor === "" ? "" : `&cursor=${cursor}`}`);
    expect(page.status).toBe(200);
    found.push(...ids(page));
    cursor = page.body.nextCursor;
  }
  return found;
}

describe("GET /v1/agents/:agentId/sessions", () => {
  test("200 shows summaries, most recently updated first", async () => {
    const agentId = await makeAgent(h, t);
    const [one, two] = [
      await session(t, agentId),
      await session(t, agentId, { userId: "ada", metadata: { k: [1] }, version: 1 }),
    ];
    await play(t, agentId, one, { message: script('text="  the\\n\\nlast   words "'), stream: false });
    const { status, body } = await t.call("GET", sessionPath(agentId, null));
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["data", "nextCursor"]);
    const times = { createdAt: expect.stringMatching(/^\d{4}-.*Z$/), updatedAt: expect.stringMatching(/^\d{4}-.*Z$/) };
    expect(body.data).toEqual([
      {
        id: one,
        agentVersion: null,
        messageCount: 4,
        firstMessagePreview: '[[sim: text="fine"]]',
        lastMessagePreview: "the last words",
        userId: "",
        metadata: {},
        ...times,
      },
      {
        id: two,
        agentVersion: 1,
        messageCount: 2,
        firstMessagePreview: '[[sim: text="fine"]]',
        lastMessagePreview: "fine",
        userId: "ada",
        metadata: { k: [1] },
        ...times,
      },
    ]);
    expect(body.nextCursor).toBeNull();
  });

  test("200 filters by userId, the empty one for sessions without end user, and pages through each", async () => {
    const agentId = await makeAgent(h, t);
    const made: [string, string][] = [];
    for (const userId of ["", "ada", "", "bob", "ada", "", "ada"])
      made.push([userId, await session(t, agentId, { userId })]);
    const of = (user?: string) =>
      made
        .filter(([userId]) => user === undefined || userId === user)
        .map(([, id]) => id)
        .reverse();
    for (const limit of [1, 2, 3, 200]) {
      expect(await walk(t, `${sessionPath(agentId, null)}?limit=${limit}`)).toEqual(of());
      for (const user of ["", "ada", "bob", "nobody"])
        expect(await walk(t, `${sessionPath(agentId, null)}?limit=${limit}&userId=${user}`)).toEqual(of(user));
    }
  });

  test("a walk meets each session once although one is updated and one deleted meanwhile", async () => {
    const agentId = await makeAgent(h, t);
    const made: string[] = [];
    for (let index = 0; index < 6; index++) made.push(await session(t, agentId));
    const first = await t.call("GET", `${sessionPath(agentId, null)}?limit=2`);
    expect(ids(first)).toEqual([made[5], made[4]]);
    await play(t, agentId, made[1] as string, { message: userMessage("x"), stream: false });
    await t.call("DELETE", sessionPath(agentId, made[4] as string, "?deleteArtifacts=true"));
    const rest = await walk(t, `${sessionPath(agentId, null)}?limit=2`, first.body.nextCursor);
    expect(rest).toEqual([made[3], made[2], made[0]] as string[]);
  });

  test("200 empty for an unknown or foreign agent; 400 for malformed fields and cursors", async () => {
    const [agentId, foreign] = [await makeAgent(h, t), await makeAgent(h, other)];
    await session(other, foreign);
    const empty = { data: [], nextCursor: null };
    for (const id of [newId("agent"), foreign])
      expect((await t.call("GET", sessionPath(id, null))).body).toEqual(empty);
    const path = sessionPath(agentId, null);
    for (const query of [
      "limit=0",
      "limit=201",
      "limit=x",
      "limit=-1",
      "limit=1.5",
      "limit=",
      "color=red",
      "limit=1&limit=2",
      "userId=%00",
    ])
      expect(statusAndCode(await t.call("GET", `${path}?${query}`))).toEqual([400, "validation_failed"]);
    await session(t, agentId);
    await session(t, agentId);
    const { body } = await t.call("GET", `${path}?limit=1`);
    const sibling = await makeAgent(h, t);
    for (const [at, cursor] of [
      [path, "x"],
      [path, ""],
      [path, "e30"],
      [path, "%00"],
      [path, "%ff"],
      [path, "A".repeat(1_025)],
      [path, `${body.nextCursor}A`],
      [`${path}?userId=ada`, body.nextCursor],
      [sessionPath(sibling, null), body.nextCursor],
      ["/v1/sessions/latest", body.nextCursor],
    ]) {
      const response = await t.call("GET", `${at}${at.includes("?") ? "&" : "?"}cursor=${cursor}`);
      expect(statusAndCode(response)).toEqual([400, "invalid_cursor"]);
      const inA = await t.call("GET", `${at}${at.includes("?") ? "&" : "?"}cursor=${cursor}`, { form: "a" });
      expect(statusAndCode(inA)).toEqual([400, "invalid_request"]);
    }
    expect(statusAndCode(await t.call("GET", "/v1/agents/ag_x/sessions"))).toEqual([400, "validation_failed"]);
  });
});

describe("GET /v1/sessions/latest", () => {
  test("200 lists across agents with the agent's current values, disabled ones too, without empty sessions", async () => {
    const own = await h.tenant();
    const [one, two] = [await makeAgent(h, own), await makeAgent(h, own)];
    const first = await session(own, one);
    const second = await session(own, two, { userId: "ada" });
    const third = await session(own, one, { userId: "ada" });
    const failed = await play(own, one, null, { message: script("fail=401"), stream: false });
    expect(failed.status).toBe(502);
    await own.call("POST", `/v1/agents/${two}/disable`);
    await own.call("PUT", `/v1/agents/${one}`, { body: { model: "simulated/model-mini" } });
    const { body } = await own.call("GET", "/v1/sessions/latest");
    expect(body.data.map((s: { id: string }) => s.id)).toEqual([third, second, first]);
    expect(body.data[0]).toMatchObject({
      agentId: one,
      model: "simulated/model-mini",
      thinkingLevel: null,
      status: "active",
    });
    expect(body.data[1]).toMatchObject({ agentId: two, status: "disabled", userId: "ada", messageCount: 2 });
    expect(await walk(own, "/v1/sessions/latest?limit=1")).toEqual([third, second, first]);
    expect(await walk(own, "/v1/sessions/latest?limit=1&byAgent=true")).toEqual([third, second]);
    expect(await walk(own, "/v1/sessions/latest?limit=1&byAgent=false&userId=ada")).toEqual([third, second]);
    expect(await walk(own, "/v1/sessions/latest?limit=1&byAgent=true&userId=")).toEqual([first]);
    for (const query of ["byAgent=yes", "byAgent=", "limit=201", "agentId=x"])
      expect(statusAndCode(await own.call("GET", `/v1/sessions/latest?${query}`))).toEqual([400, "validation_failed"]);
    expect(
      (await t.call("GET", "/v1/sessions/latest?userId=ada&limit=200")).body.data.every(
        (s: { id: string }) => s.id !== third,
      ),
    ).toBe(true);
  });
});

describe("GET /v1/agents/:agentId/sessions/:sessionId/messages", () => {
  test("200: large pages that are asked for at once are all read, one after another", async () => {
    const agentId = await makeAgent(h, t);
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
    await h.sql`
      insert into messages (session_id, seq, id, role, turn_id, content)
      select ${sessionId}, 100 + n, 'large-' || n, 'user', 'turn_x', json_build_object('id', 'large-' || n, 'role', 'user',
        'parts', json_build_array(json_build_object('type', 'text', 'text', repeat('x', 600000)))) from generate_series(1, 4) n`;
    const path = `${sessionPath(agentId, sessionId)}/messages`;
    const pages = await Promise.all(Array.from({ length: 8 }, () => t.call("GET", path)));
    for (const { status, body } of pages)
      expect([status, body.data.map(({ id }: { id: string }) => id).slice(-4)]).toEqual([
        200,
        ["large-1", "large-2", "large-3", "large-4"],
      ]);
  });

  test("200: a page ends before 4 MiB of messages, whatever its limit and its largest message", async () => {
    const agentId = await makeAgent(h, t);
    const sessionId = await session(t, agentId);
    const read = (query: string) => t.call("GET", sessionPath(agentId, sessionId, `/messages${query}`));
    const start = (await read("?limit=1")).body.latestCursor;
    const mib = 1024 * 1024;
    const sizes = [1.9 * mib, 1.9 * mib, 1.9 * mib, 8 * mib, 9 * mib, 1].map(Math.floor);
    for (const [place, size] of sizes.entries())
      await h.sql`
        insert into messages (session_id, seq, id, role, turn_id, content)
        select session_id, ${100 + place}, ${`m${place}`}, role, turn_id,
          json_build_object('id', ${`m${place}`}::text, 'role', role, 'parts', json_build_array(
            json_build_object('type', 'text', 'text', repeat('x', ${size}))))
        from messages where session_id = ${sessionId} order by seq limit 1`;
    const pages: string[][] = [];
    for (let cursor = ""; ; ) {
      const { body } = await read(`?limit=200${cursor}`);
      pages.push(body.data.map(({ id }: { id: string }) => id));
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(pages.slice(0, 2)).toEqual([
      ["m4", "m5"],
      ["m1", "m2", "m3"],
    ]);
    expect(pages[2]?.at(-1)).toBe("m0");
    expect(pages).toHaveLength(3);
    const newer: string[][] = [];
    for (let after = start; ; ) {
      const { body } = await read(`?limit=200&after=${after}`);
      if (body.data.length === 0) break;
      newer.push(body.data.map(({ id }: { id: string }) => id));
      after = body.latestCursor;
    }
    expect(newer).toEqual([["m0", "m1", "m2"], ["m3"], ["m4", "m5"]]);
  });

  test("200 walks back page by page, each page in order, and gives the newest place on every page", async () => {
    const agentId = await makeAgent(h, t);
    const sessionId = await session(t, agentId);
    for (let turn = 0; turn < 3; turn++)
      await play(t, agentId, sessionId, { message: userMessage("x"), stream: false });
    const read = (query: string) => t.call("GET", sessionPath(agentId, sessionId, `/messages${query}`));
    const all = await read("");
    expect([all.body.data.length, all.body.nextCursor]).toEqual([8, null]);
    for (const limit of [1, 2, 3, 5, 8]) {
      const pages: ApiResponse[] = [await read(`?limit=${limit}`)];
      while (pages.at(-1)?.body.nextCursor)
        pages.push(await read(`?limit=${limit}&cursor=${pages.at(-1)?.body.nextCursor}`));
      expect(pages.reverse().flatMap(({ body }) => body.data)).toEqual(all.body.data);
      expect(new Set(pages.map(({ body }) => body.latestCursor)).size).toBe(1);
    }
    const newer = await read(`?after=${all.body.latestCursor}`);
    expect(newer.body).toEqual({ data: [], nextCursor: null, latestCursor: all.body.latestCursor });
    for (let turn = 0; turn < 2; turn++)
      await play(t, agentId, sessionId, { message: userMessage("x"), stream: false });
    const some = await read(`?after=${all.body.latestCursor}&limit=3`);
    const rest = await read(`?after=${some.body.latestCursor}&limit=3`);
    const now = (await read("?limit=200")).body.data;
    expect([...some.body.data, ...rest.body.data]).toEqual(now.slice(8));
    expect(some.body.data).toHaveLength(3);
  });

  test("400 validation_failed, invalid_cursor (A: invalid_request): cursor with after, malformed or foreign cursors, limits", async () => {
    const agentId = await makeAgent(h, t);
    const [one, two] = [await session(t, agentId), await session(t, agentId)];
    const read = (query: string, form: "a" | "b" = "b") =>
      t.call("GET", sessionPath(agentId, one, `/messages?${query}`), { form });
    const page = (await read("limit=1")).body;
    const theirs = (await t.call("GET", sessionPath(agentId, two, "/messages?limit=1"))).body;
    expect(statusAndCode(await read(`cursor=${page.nextCursor}&after=${page.latestCursor}`))).toEqual([
      400,
      "validation_failed",
    ]);
    for (const query of [
      `after=${page.nextCursor}`,
      `cursor=${page.latestCursor}`,
      `after=${theirs.latestCursor}`,
      `cursor=${theirs.nextCursor}`,
      "after=",
      "after=%00",
      "after=%ff",
      `after=${"A".repeat(1_025)}`,
      "cursor=x",
    ]) {
      expect(statusAndCode(await read(query))).toEqual([400, "invalid_cursor"]);
      expect(statusAndCode(await read(query, "a"))).toEqual([400, "invalid_request"]);
    }
    for (const query of ["limit=0", "limit=201", "limit=%ff", "limit=%00", "before=x", "cursor=x&cursor=x"])
      expect(statusAndCode(await read(query))).toEqual([400, "validation_failed"]);
  });
});

describe("DELETE /v1/agents/:agentId/sessions/:sessionId", () => {
  test("204, and every later request for it is 404; its usage stays", async () => {
    const agentId = await makeAgent(h, t);
    for (const form of ["a", "b"] as const) {
      const id = await session(t, agentId);
      const query = form === "b" ? "?deleteArtifacts=true" : "";
      const gone = await t.call("DELETE", sessionPath(agentId, id, query), { form });
      expect([gone.status, gone.body]).toEqual([204, null]);
      const later: [string, string, object?][] = [
        ["DELETE", query],
        ["GET", "/messages"],
        ["GET", "/stream"],
        ["POST", "/cancel"],
        ["POST", "", { message: userMessage("x") }],
        ["POST", "", { trigger: "regenerate-message" }],
      ];
      for (const [method, rest, body] of later)
        expect(statusAndCode(await t.call(method, sessionPath(agentId, id, rest), { form, body }))).toEqual([
          404,
          "not_found",
        ]);
      expect(ids(await t.call("GET", sessionPath(agentId, null)))).not.toContain(id);
      expect(ids(await t.call("GET", "/v1/sessions/latest"))).not.toContain(id);
      expect((await t.call("GET", `/v1/usage?groupBy=session&sessionId=${id}`)).body.totals.requestCount).toBe(1);
    }
  });

  test("400 validation_failed (A: invalid_request): without deleteArtifacts in form B, and with it in form A", async () => {
    const agentId = await makeAgent(h, t);
    const id = await session(t, agentId);
    for (const query of ["", "?deleteArtifacts=yes", "?deleteArtifacts="])
      expect(statusAndCode(await t.call("DELETE", sessionPath(agentId, id, query)))).toEqual([
        400,
        "validation_failed",
      ]);
    const inA = await t.call("DELETE", sessionPath(agentId, id, "?deleteArtifacts=true"), { form: "a" });
    expect(statusAndCode(inA)).toEqual([400, "invalid_request"]);
    expect((await t.call("GET", sessionPath(agentId, id, "/messages"))).status).toBe(200);
  });

  test("409 session_busy (A: SESSION_BUSY): while a turn runs, the first one too", async () => {
    const agentId = await makeAgent(h, t);
    for (const form of ["a", "b"] as const) {
      const body = { message: script('text="a b" hangAfterChunks=1') };
      const live = await open(h, t, "POST", sessionPath(agentId, null), { form, body });
      await live.until("text-delta");
      const path = sessionPath(agentId, live.sessionId, form === "b" ? "?deleteArtifacts=false" : "");
      expect(statusAndCode(await t.call("DELETE", path, { form }))).toEqual([
        409,
        form === "a" ? "SESSION_BUSY" : "session_busy",
      ]);
      await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"));
      await live.rest();
      expect((await t.call("DELETE", path, { form })).status).toBe(form === "a" ? 404 : 204);
    }
  });
});

describe("sessions of another tenant", () => {
  test("404 not_found: byte for byte as a missing one, at every operation", async () => {
    const agentId = await makeAgent(h, t);
    const theirAgent = await makeAgent(h, other);
    const theirs = await session(other, theirAgent);
    const theirPage = (await other.call("GET", sessionPath(theirAgent, theirs, "/messages?limit=1"))).body;
    const missing = newId("session");
    const operations: [string, string, object?][] = [
      ["POST", "", { message: userMessage("x") }],
      ["POST", "", { trigger: "regenerate-message" }],
      ["GET", "/messages"],
      ["GET", `/messages?after=${theirPage.latestCursor}`],
      ["GET", `/messages?cursor=${theirPage.nextCursor}`],
      ["GET", "/stream"],
      ["POST", "/cancel"],
      ["DELETE", "?deleteArtifacts=false"],
    ];
    const headers = { "x-request-id": "the-same-request" };
    // But for the second in which it was sent.
    const kept = (got: Headers) => [...got].filter(([name]) => name !== "date").sort();
    const told = ({ status, body, headers: got }: ApiResponse) => JSON.stringify([status, body, kept(got)]);
    for (const [method, rest, body] of operations) {
      const call = (agent: string, id: string) => t.call(method, sessionPath(agent, id, rest), { body, headers });
      const unknown = told(await call(agentId, missing));
      expect(unknown).toStartWith('[404,{"error":{"code":"not_found"');
      for (const [agent, id] of [
        [agentId, theirs],
        [theirAgent, theirs],
        [newId("agent"), missing],
        [theirAgent, missing],
      ] as const)
        expect(told(await call(agent, id))).toBe(unknown);
    }
    for (const path of [(id: string) => sessionPath(id, null), (id: string) => `/v1/agents/${id}/generate`]) {
      const body = path("").endsWith("generate") ? { messages: [userMessage("x")] } : { message: userMessage("x") };
      const call = async (id: string) => told(await t.call("POST", path(id), { body, headers }));
      expect(await call(theirAgent)).toBe(await call(newId("agent")));
    }
    expect((await other.call("GET", sessionPath(theirAgent, theirs, "/messages"))).body.data).toHaveLength(2);
  });
});
