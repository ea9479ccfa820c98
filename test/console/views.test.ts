import { beforeAll, describe, expect, test } from "bun:test";
import { Kept } from "../../src/console-server/kept.ts";
import type { Overview } from "../../src/console-shapes/overview.ts";
import type { MessageTurn } from "../../src/console-shapes/words.ts";
import { type IdOf, newId } from "../../src/kernel/ids.ts";
import { signInToConsole } from "../harness/console-page.ts";
import { useAgent } from "../harness/fixture.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";

const { h, t, agentId } = await useAgent({
  env: { CONSOLE: "1" },
  agent: { tools: ["memory"], approvalInChat: { default: "manual" } },
});
const page = await signInToConsole(h.app, { apiKey: t.token });

/** A turn's row that was accepted so many seconds ago. */
async function insertTurn(tenantId: string, secondsAgo: number, fields: Record<string, unknown> = {}): Promise<void> {
  const accepted = new Date(Date.now() - secondsAgo * 1000);
  const row = {
    id: newId("turn"),
    tenant_id: tenantId,
    agent_id: agentId,
    kind: "session",
    status: "succeeded",
    agent_version: 1,
    assistant_message_id: newId("message"),
    accepted_at: accepted,
    finished_at: accepted,
    ...fields,
  };
  await h.sql`insert into turns ${h.sql(row as never)}`;
}

const after = (secondsAgo: number, ms: number) => new Date(Date.now() - secondsAgo * 1000 + ms);

describe("the overview", () => {
  test("counts the turns of the last hour by minutes, beside the hour before", async () => {
    const other = await h.tenant();
    const mine = await signInToConsole(h.app, { apiKey: other.token });
    const tenMinutes = 600;
    for (const ms of [100, 200, 300, 400])
      await insertTurn(other.id, tenMinutes, {
        first_text_at: after(tenMinutes, ms),
        input_tokens: 10,
        output_tokens: 3,
      });
    await insertTurn(other.id, tenMinutes, { status: "failed", error: { code: "provider_error", message: "No." } });
    await insertTurn(other.id, tenMinutes, { status: "canceled" });
    await insertTurn(other.id, 5_400);
    await insertTurn(other.id, 4 * 3600);
    const queuedAt = after(60, 50_000);
    // A minute of it waited for a person.
    const spokeAt = new Date(queuedAt.getTime() + 60_700);
    const inLine = { status: "queued", queued_at: queuedAt, first_text_at: spokeAt, waited_ms: 60_000 };
    await insertTurn(other.id, 60, inLine);
    const { status, body } = await mine.call("GET", "/overview");
    expect(status).toBe(200);
    const minutes: readonly { at: string; accepted: number; firstTextMsP50: number | null }[] = body.parts;
    expect(minutes).toHaveLength(60);
    expect(Date.parse(body.to) - Date.parse(body.from)).toBe(3_600_000);
    expect(minutes[0]?.at).toBe(body.from);
    const filled = minutes.filter(({ accepted }) => accepted > 0);
    // Nothing keeps the turns of one second within one minute, but the sums hold.
    const sum = (name: string) => filled.reduce((all, minute) => all + Number(minute[name as never]), 0);
    expect(["accepted", "succeeded", "failed", "canceled", "inputTokens", "outputTokens"].map(sum)).toEqual([
      7, 4, 1, 1, 40, 12,
    ]);
    expect(Math.round((filled.at(-1)?.firstTextMsP50 ?? 0) / 100)).toBe(7);
    expect(body.now).toEqual({ queued: 1, running: 0, waiting: 0, waitingSince: null });
    expect(body.whole).toMatchObject({ accepted: 7, failed: 1, firstTextMsP95: 700 });
    expect(body.before).toMatchObject({ accepted: 1, succeeded: 1, firstTextMsP50: null });
    expect(body.causes).toEqual([{ code: "provider_error", message: "No.", count: 1 }]);
    const day = (await mine.call("GET", "/overview?range=day")).body;
    expect([day.parts.length, day.whole.accepted, day.before.accepted]).toEqual([48, 9, 0]);
    expect((await mine.call("GET", "/overview?range=year")).status).toBe(400);
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
    const between = (fields: Record<string, string>) => mine.call("GET", `/overview?${new URLSearchParams(fields)}`);
    // Of a time that lasts on, only what has passed is compared.
    const two = { from: ago(7_200), to: ago(-7_200), before: ago(5 * 3600) };
    expect((await between(two)).body).toMatchObject({ whole: { accepted: 8 }, before: { accepted: 1 } });
    expect((await between({ ...two, to: ago(3_600) })).body).toMatchObject({ whole: { accepted: 1 }, causes: [] });
    for (const wrong of [
      { from: ago(1), to: ago(2) },
      { to: ago(-40 * 86_400) },
      { before: ago(1) },
      { from: ago(-1) },
      { range: "day" },
    ])
      expect((await between({ ...two, ...wrong })).status).toBe(400);
    expect((await between({ from: ago(7_200) })).status).toBe(400);
    expect(minutes.find(({ accepted }) => accepted === 0)).toMatchObject({
      firstTextMsP50: null,
      firstTextMsP95: null,
    });
  });

  test("is read from an index, and by nobody else's turns", async () => {
    const plan = await h.sql.begin(async (inner) => {
      // So few rows are read faster without one.
      await inner`set local enable_seqscan = off`;
      return inner`
        explain select count(*) from turns where tenant_id = ${t.id} and accepted_at >= now() - interval '1 hour'`;
    });
    expect(JSON.stringify(plan)).toContain("turns_accepted");
    const nobody = await h.tenant();
    const theirs = await signInToConsole(h.app, { apiKey: nobody.token });
    const { parts, now } = (await theirs.call("GET", "/overview")).body;
    expect(parts.every(({ accepted }: { accepted: number }) => accepted === 0)).toBe(true);
    expect(now).toEqual({ queued: 0, running: 0, waiting: 0, waitingSince: null });
  });

  test("is read once for those who ask at the same time, and again after a failure", async () => {
    const overviews = new Kept<Overview<Date>>();
    const tenantId = newId("tenant") as IdOf<"tenant">;
    let reads = 0;
    const read = async (): Promise<Overview<Date>> => {
      reads += 1;
      if (reads === 1) throw new Error("It broke.");
      const none = { accepted: 0, succeeded: 0, failed: 0, canceled: 0, inputTokens: 0, outputTokens: 0 };
      const sums = { ...none, firstTextMsP50: null, firstTextMsP95: null };
      const now = { queued: 0, running: 0, waiting: 0, waitingSince: null };
      return { from: new Date(), to: new Date(), parts: [], whole: sums, before: sums, causes: [], now };
    };
    expect(overviews.read(tenantId, read)).rejects.toThrow("It broke.");
    await Promise.resolve();
    await Promise.all(Array.from({ length: 5 }, () => overviews.read(tenantId, read).catch(() => {})));
    await Promise.all(Array.from({ length: 5 }, () => overviews.read(tenantId, read)));
    expect(reads).toBe(2);
  });

  test("takes no field and needs a tenant's session", async () => {
    expect((await page.call("GET", "/overview?from=x")).status).toBe(400);
    expect((await page.call("GET", "/overview", { headers: { cookie: null } })).status).toBe(401);
  });
});

describe("what waits for a person", () => {
  // Not before: it would take the turn that the overview shows as queued.
  beforeAll(async () => void (await h.startWorkers()));

  test("is listed over all sessions, oldest first, with what a decision needs, until it is decided", async () => {
    const locate = { name: "locate", description: "", inputSchema: { type: "object" as const } };
    const caller = await makeAgent(h, t, { name: "Caller", clientTools: [locate] });
    const ask = async (agent: string, script: string) =>
      (await t.call("POST", `/v1/agents/${agent}/sessions`, { body: { message: userMessage(script) } })).headers.get(
        "location",
      ) as string;
    const twice = await ask(
      agentId,
      '[[sim: tool=memory_save args={"text":"one"} tool=memory_save args={"text":"two"} ; text="Done."]]',
    );
    const located = await ask(caller, '[[sim: tool=locate args={"precise":true} ; text="Here."]]');
    const { body } = await page.call("GET", "/waiting");
    expect(body.data).toMatchObject([
      { kind: "approval", agentId, tool: "memory_save", input: { text: "one" }, inputIsLeftOut: false },
      { kind: "approval", agentId, tool: "memory_save", input: { text: "two" } },
      { kind: "client_tool", agentId: caller, agentName: "Caller", tool: "locate", approvalId: null },
    ]);
    const waitingOf = async (query: string) =>
      (await page.call("GET", `/waiting?${query}`)).body.data.map(({ tool }: { tool: string }) => tool);
    expect(await waitingOf(`agentId=${caller}`)).toEqual(["locate"]);
    expect(await waitingOf("tool=memory_save")).toEqual(["memory_save", "memory_save"]);
    expect(await waitingOf(`agentId=${caller}&tool=memory_save`)).toEqual([]);
    const first = (await page.call("GET", "/waiting?limit=2")).body;
    const rest = (await page.call("GET", `/waiting?limit=2&cursor=${first.nextCursor}`)).body;
    expect([...first.data, ...rest.data]).toEqual(body.data);
    expect(rest.nextCursor).toBeNull();
    expect((await page.call("GET", "/waiting?cursor=x")).body.error.code).toBe("invalid_cursor");

    const [one, two, call] = body.data;
    const ofAgent = (waiting: typeof one) => `/agents/${waiting.agentId}/sessions/${waiting.sessionId}`;
    expect([`/v1${ofAgent(one)}`, `/v1${ofAgent(call)}`]).toEqual([twice, located]);
    const decision = { body: { approved: false, reason: "Not now." } };
    expect((await page.call("POST", `${ofAgent(one)}/tool-approvals/${one.approvalId}`, decision)).status).toBe(202);
    const decisions = `/decisions?approvalIds=${one.approvalId},${two.approvalId}`;
    expect((await page.call("GET", decisions)).body.data).toEqual([
      { approvalId: one.approvalId, at: expect.any(String), byType: "api_key", byName: expect.any(String) },
    ]);
    const left = async () =>
      (await page.call("GET", "/waiting")).body.data.map(({ toolCallId }: { toolCallId: string }) => toolCallId);
    expect(await left()).toEqual([two.toolCallId, call.toolCallId]);
    await t.call("POST", `${twice}/cancel`);
    expect(await left()).toEqual([call.toolCallId]);
    const result = { body: { output: { city: "Lisbon" } } };
    expect((await page.call("POST", `${ofAgent(call)}/tool-calls/${call.toolCallId}`, result)).status).toBe(202);
    expect(await left()).toEqual([]);
    const nobody = await signInToConsole(h.app, { apiKey: (await h.tenant()).token });
    for (const view of ["/waiting", decisions]) expect((await nobody.call("GET", view)).body.data).toEqual([]);
  });

  test("says what a turn said last before it asked, of the tenant's own turns that wait", async () => {
    const made = await t.call("POST", `/v1/agents/${agentId}/sessions`, {
      body: {
        message: userMessage('[[sim: text="I shall save it." tool=memory_save args={"text":"x"} ; text="Done."]]'),
      },
    });
    const [sessionId] = (made.headers.get("location") ?? "").split("/").slice(-1);
    const [turn] = (await t.parley.turns.list({ sessionId: sessionId ?? "" })).data;
    const said = () => page.call("GET", `/said-before?turnIds=${turn?.id}`);
    expect((await said()).body.data).toEqual([{ turnId: turn?.id, text: "I shall save it." }]);
    const nobody = await signInToConsole(h.app, { apiKey: (await h.tenant()).token });
    expect((await nobody.call("GET", `/said-before?turnIds=${turn?.id}`)).body.data).toEqual([]);
    await t.call("POST", `/v1/agents/${agentId}/sessions/${sessionId}/cancel`);
    expect((await said()).body.data).toEqual([]);
  });

  test("leaves a very long input out", async () => {
    const text = "x".repeat(20_000);
    await t.call("POST", `/v1/agents/${agentId}/sessions`, {
      body: { message: userMessage(`[[sim: tool=memory_save args={"text":"${text}"} ; text="Done."]]`) },
    });
    const [waiting] = (await page.call("GET", "/waiting")).body.data;
    expect([waiting.input, waiting.inputIsLeftOut]).toEqual([null, true]);
  });
});

describe("what was said", () => {
  const ask = async (message: string, path = `/v1/agents/${agentId}/sessions`): Promise<string> => {
    const response = await t.call("POST", path, { body: { stream: false, message: userMessage(message) } });
    return response.headers.get("location") ?? path;
  };
  const idOf = (path: string) => path.split("/").at(-1) as string;

  test("a failed turn has its place between the answers, and what it was asked", async () => {
    const path = await ask('First? [[sim: text="One."]]');
    await ask("Second? [[sim: fail=400]]", path);
    await ask('Third? [[sim: text="Three."]]', path);
    await ask("Fourth? [[sim: fail=400]]", path);
    const { data: messages } = await t.parley.sessions.listMessages(agentId, idOf(path));
    const { body } = await page.call("GET", `/unanswered?sessionId=${idOf(path)}`);
    const words = ({ message }: { message: { parts: { text: string }[] } }) => message.parts[0]?.text.split(" ")[0];
    expect(body.data.map(words)).toEqual(["Second?", "Fourth?"]);
    expect(body.data.map(({ afterMessageId }: { afterMessageId: string }) => afterMessageId)).toEqual([
      messages[1]?.id,
      messages[3]?.id,
    ]);
    expect(body.data[0]).toMatchObject({ status: "failed", error: { code: "provider_error" } });
    const later = `/unanswered?sessionId=${idOf(path)}&fromMessageId=${messages[3]?.id}`;
    expect((await page.call("GET", later)).body.data.map(words)).toEqual(["Fourth?"]);
    const { data: turns } = await t.parley.turns.list({ sessionId: idOf(path) });
    const ofMessages = (await page.call("GET", `/message-turns?sessionId=${idOf(path)}`)).body.data;
    expect(ofMessages.map(({ messageId, turnId }: MessageTurn) => [messageId, turnId]).toReversed()).toEqual(
      messages.map(({ id }, at) => [id, turns.toReversed()[at < 2 ? 0 : 2]?.id]),
    );
    expect(ofMessages.at(-1).at).toBe(turns.at(-1)?.acceptedAt);
    const newer = (await page.call("GET", later.replace("unanswered", "message-turns"))).body.data;
    expect(newer.map(({ messageId }: MessageTurn) => messageId)).toEqual([messages[3]?.id]);
    const asked = (await page.call("GET", `/questions?turnIds=${turns.map(({ id }) => id).join()},turn_x`)).body.data;
    expect(asked).toHaveLength(4);
    expect(asked.find(({ turnId }: { turnId: string }) => turnId === turns[0]?.id)?.text).toStartWith("Fourth?");
    const said = (await page.call("GET", `/turn-words?turnId=${turns[1]?.id}`)).body;
    expect([said.question.role, said.answer.parts.at(-1).text]).toEqual(["user", "Three."]);
    const versions = (await page.call("GET", `/version-marks?agentId=${agentId}`)).body.data;
    expect(versions).toMatchObject([
      { version: 1, madeBy: expect.any(String), failed: expect.any(Number), runMsP50: expect.any(Number) },
    ]);
    const agents = (await page.call("GET", "/agent-marks")).body.data;
    expect(agents.find((mark: { agentId: string }) => mark.agentId === agentId).failed).toBeGreaterThanOrEqual(2);
    const providers = (await page.call("GET", "/provider-marks")).body.data;
    expect(providers).toMatchObject([{ status: 400, turnId: turns[0]?.id }]);
    const listed = (await page.call("GET", "/session-list?limit=1")).body.data;
    expect(listed).toMatchObject([
      { id: idOf(path), mark: { status: "failed", errorCode: "provider_error", isPartial: false } },
    ]);
    // What was sent was wrong: the provider is well.
    expect(providers[0].failedInHour).toBe(0);
    await t.call("POST", `/v1/agents/${agentId}/sessions`, {
      body: { stream: false, message: userMessage("[[sim: fail=401]]") },
    });
    const marks = async () => (await page.call("GET", "/provider-marks")).body.data;
    expect(await marks()).toMatchObject([{ status: 401, failedInHour: 1 }]);
    const [last] = (await t.parley.turns.list({ status: "failed", limit: 1 })).data;
    await h.sql`update turns set accepted_at = accepted_at - interval '2 hours' where id = ${last?.id ?? ""}`;
    expect(await marks()).toMatchObject([{ failedInHour: 0 }]);
  });

  test("a session whose first turn failed is listed by its question, found by it and by its id, and last turns by their end", async () => {
    const userId = "luckless";
    const begin = (message: string) =>
      t.call("POST", `/v1/agents/${agentId}/sessions`, {
        body: { stream: false, userId, message: userMessage(message) },
      });
    const listed = async (query: string) => {
      const { body } = await page.call("GET", `/session-list?userId=${userId}${query}`);
      return body.data.map(
        ({ firstMessagePreview }: { firstMessagePreview: string }) => firstMessagePreview.split(" ")[0],
      );
    };
    await begin("Alpha? [[sim: fail=400]]");
    const good = await begin('Beta? [[sim: text="Yes."]]');
    await begin("Gamma? [[sim: fail=400]]");
    expect(await listed("")).toEqual(["Gamma?", "Beta?", "Alpha?"]);
    expect(await listed(`&agentId=${agentId}&from=${new Date(Date.now() - 3_600_000).toISOString()}`)).toHaveLength(3);
    expect(await listed(`&to=${new Date(Date.now() - 3_600_000).toISOString()}`)).toEqual([]);
    expect(await listed("&status=failed")).toEqual(["Gamma?", "Alpha?"]);
    expect(await listed("&status=succeeded")).toEqual(["Beta?"]);
    const first = (await page.call("GET", `/session-list?userId=${userId}&limit=2`)).body;
    expect(await listed(`&limit=2&cursor=${first.nextCursor}`)).toEqual(["Alpha?"]);
    // The last turn counts, not any that was before it.
    await t.call("POST", good.headers.get("location") as string, {
      body: { stream: false, message: userMessage("Delta? [[sim: fail=400]]") },
    });
    expect(await listed("&status=succeeded")).toEqual([]);
    expect(await listed("&status=failed")).toEqual(["Beta?", "Gamma?", "Alpha?"]);
    const found = async (words: string, filters = "") =>
      (await page.call("GET", `/search?words=${encodeURIComponent(words)}${filters}`)).body.data.map(
        ({ id }: { id: string }) => id,
      );
    const [gamma] = first.data;
    expect(await found("gamma? [[sim")).toEqual([gamma.id]);
    expect(await found(gamma.id)).toEqual([gamma.id]);
    // The search has the list's filters.
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    expect(await found("? [[sim", `&userId=${userId}`)).toHaveLength(3);
    expect(await found("? [[sim", `&agentId=${agentId}&userId=${userId}&status=failed&from=${hourAgo}`)).toHaveLength(
      3,
    );
    expect(await found("? [[sim", `&userId=${userId}&status=succeeded`)).toEqual([]);
    expect(await found("? [[sim", `&userId=${userId}&to=${hourAgo}`)).toEqual([]);
    expect(await found("? [[sim", "&userId=nobody")).toEqual([]);
    expect((await page.call("GET", "/session-list?cursor=x")).body.error.code).toBe("invalid_cursor");
    // The interface's own list skips sessions without messages, as it says.
    expect((await t.parley.sessions.listLatest({ userId })).data).toHaveLength(1);
  });

  test("sessions are found by a sentence in them, whatever its case and its signs", async () => {
    const path = await ask('Does "50%_off" hold? [[sim: text="It does."]]');
    const found = async (words: string, of = page) =>
      (await of.call("GET", `/search?words=${encodeURIComponent(words)}`)).body.data.map(
        ({ id }: { id: string }) => id,
      );
    expect(await found('does "50%_OFF"')).toEqual([idOf(path)]);
    expect(await found("50%off")).toEqual([]);
    expect((await page.call("GET", "/search?words=ab")).status).toBe(400);
  });

  test("nobody else's", async () => {
    const path = await ask('Mine? [[sim: text="Yes."]]');
    await ask("Still mine? [[sim: fail=400]]", path);
    const { data: turns } = await t.parley.turns.list({ sessionId: idOf(path) });
    const nobody = await h.tenant();
    const theirs = await signInToConsole(h.app, { apiKey: nobody.token });
    const turnId = turns[0]?.id;
    for (const view of [
      `/unanswered?sessionId=${idOf(path)}`,
      `/message-turns?sessionId=${idOf(path)}`,
      `/questions?turnIds=${turnId}`,
      "/search?words=Mine%3F",
    ])
      expect((await theirs.call("GET", view)).body.data).toEqual([]);
    for (const view of ["/session-list", "/session-list?status=failed", `/search?words=${idOf(path)}`])
      expect((await theirs.call("GET", view)).body.data).toEqual([]);
    expect((await theirs.call("GET", `/turn-words?turnId=${turnId}`)).body).toMatchObject({
      question: null,
      answer: null,
    });
  });
});
