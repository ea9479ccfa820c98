import { describe, expect, test } from "bun:test";
import { discardJob } from "../../../src/installation/discard-job.ts";
import { turnRunMsMax } from "../../../src/kernel/limits.ts";
import { useTenant } from "../../harness/fixture.ts";
import { handedBackTurn } from "../../harness/handed-back.ts";
import { eventually } from "../../harness/harness.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { makeAgent, makeProvider } from "../../harness/seed.ts";
import { idle, messagesOf, open, play, script, sessionPath } from "../../harness/turns.ts";

const { h, t } = await useTenant();
const tools = ["write_todos" as const];

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly state?: string;
}

/** Runs what is queued until something has happened. */
async function work<T>(until: () => Promise<T>): Promise<T> {
  const worker = await h.startWorkers();
  try {
    return await until();
  } finally {
    await worker.drain(0);
  }
}
const errorOf = async (turnId: string) => {
  const { status, error } = (await t.call("GET", `/v1/turns/${turnId}`)).body;
  return [status, error?.code];
};
const textsOf = (parts: readonly Part[]) => parts.flatMap(({ type, text }) => (type === "text" ? [text] : []));
const previewOf = async (agentId: string, sessionId: string) =>
  (await t.call("GET", sessionPath(agentId, sessionId))).body.lastMessagePreview;
/** The completed step is stored behind the question, and nothing is left of its checkpoint. */
async function expectKept(agentId: string, sessionId: string, texts: readonly string[]): Promise<void> {
  const [, answer] = (await messagesOf(t, agentId, sessionId)).slice(-2);
  expect(textsOf(answer.parts)).toEqual(texts as string[]);
  expect(answer.parts.find(({ type }: Part) => type === "tool-write_todos").state).toBe("output-available");
  expect(await previewOf(agentId, sessionId)).toBe(texts.join(" ").trim());
  expect(await h.sql`select 1 from turn_checkpoints`).toHaveLength(0);
}
async function discard(turnId: string): Promise<string> {
  const [job] = await h.sql<{ id: string }[]>`
    select id::text from graphile_worker._private_jobs where payload ->> 'turnId' = ${turnId}`;
  return discardJob(h.sql, job?.id ?? "");
}

/** A turn that was handed back, whose next claim summarises the transcript first, by a model that takes its time. */
async function summarisedNext(heldUrl: string) {
  const agentId = await makeAgent(h, t, { tools, turnLimits: { maxSeconds: 600 } });
  const long = `${heldMark} ${"lorem ".repeat(300)}`;
  const earlier = await work(() => play(t, agentId, null, { message: script(`text="${long}"`) }));
  const turn = await handedBackTurn(h, t, agentId, earlier.sessionId);
  const { id: providerId } = await makeProvider(h, t, { baseUrl: heldUrl });
  const change = JSON.stringify({ providerId, compactionReserveTokens: 127_700 });
  await h.sql`
    update agent_versions set config = (config::jsonb || ${change}::text::jsonb)::json where agent_id = ${agentId}`;
  return { agentId, ...turn };
}

describe("a turn that was handed back after a completed step keeps it", () => {
  test("when its provider is gone by the time it goes on", async () => {
    const agentId = await makeAgent(h, t, { tools });
    const turn = await handedBackTurn(h, t, agentId);
    await h.sql`delete from providers`;
    await work(() => idle(h, turn.sessionId));
    expect(await errorOf(turn.turnId)).toEqual(["failed", "provider_not_found"]);
    await expectKept(agentId, turn.sessionId, ["First.", "one "]);
    expect((await turn.rest()).at(-2)?.data).toMatchObject({ type: "error" });
  });

  test("when it has run as long as its agent allows before it is prepared; the step that broke off in its text is left out", async () => {
    await using held = holdModel(h.model);
    const { agentId, sessionId, turnId } = await summarisedNext(held.url);
    await h.sql`update turns set run_ms = 600000 where id = ${turnId}`;
    await work(() => idle(h, sessionId));
    expect(await errorOf(turnId)).toEqual(["failed", "turn_limit_reached"]);
    await expectKept(agentId, sessionId, ["First."]);
  });

  test("when the operator takes it out of the queue", async () => {
    const agentId = await makeAgent(h, t, { tools });
    const turn = await handedBackTurn(h, t, agentId);
    expect(await discard(turn.turnId)).toBe("turn");
    expect(await errorOf(turn.turnId)).toEqual(["failed", "service_unavailable"]);
    await expectKept(agentId, turn.sessionId, ["First."]);
    expect((await turn.rest()).at(-2)?.data).toMatchObject({ type: "error" });
  });
});

describe("a drain is no fault of the turn: it is run again as often as its worker stops", () => {
  /** Drains a worker once more as soon as it has begun the turn's next claim. */
  const drained = (turnId: string, attempt: number, hasBegun: () => Promise<boolean>) =>
    work(async () => {
      await eventually(async () => (await t.call("GET", `/v1/turns/${turnId}`)).body.attempts === attempt);
      await eventually(hasBegun);
    });

  test("in one step", async () => {
    await using held = holdModel(h.model, (request) => request.includes('"role":"tool"'));
    const { id: providerId } = await makeProvider(h, t, { baseUrl: held.url });
    const agentId = await makeAgent(h, t, { tools, providerId });
    const message = script('text="First." tool=write_todos args={"todos":[]} ; text=Second');
    const asked = (attempt: number) => async () => {
      const sent = h.model.requests().filter(({ body }) => JSON.stringify(body).includes('"role":"tool"'));
      return sent.length >= attempt;
    };
    h.model.clear();
    const live = await work(async () => {
      const opened = await open(h, t, "POST", sessionPath(agentId, null), { body: { message } });
      await eventually(asked(1));
      return opened;
    });
    for (const attempt of [2, 3, 4, 5]) await drained(live.turnId, attempt, asked(attempt));
    held.release();
    await work(() => live.rest());
    expect(await errorOf(live.turnId)).toEqual(["succeeded", undefined]);
    const [, answer] = await messagesOf(t, agentId, live.sessionId);
    expect(textsOf(answer.parts)).toEqual(["First.", "Second"]);
  });

  test("until it has run as long as a turn may", async () => {
    const agentId = await makeAgent(h, t, { tools });
    const { sessionId, turnId } = await handedBackTurn(h, t, agentId);
    await h.sql`update turns set run_ms = ${turnRunMsMax} where id = ${turnId}`;
    await work(() => idle(h, sessionId));
    expect(await errorOf(turnId)).toEqual(["failed", "provider_error"]);
    expect(await h.sql`select 1 from turn_checkpoints`).toHaveLength(0);
  });

  test("before anything was shown", async () => {
    await using held = holdModel(h.model);
    const { id: providerId } = await makeProvider(h, t, { baseUrl: held.url });
    const agentId = await makeAgent(h, t, { providerId });
    const message = script(`text="${heldMark}"`);
    const asked = (attempt: number) => async () => h.model.requests().length >= attempt;
    h.model.clear();
    const live = await work(async () => {
      const opened = await open(h, t, "POST", sessionPath(agentId, null), { body: { message } });
      await eventually(asked(1));
      return opened;
    });
    for (const attempt of [2, 3, 4]) await drained(live.turnId, attempt, asked(attempt));
    held.release();
    await work(() => live.rest());
    const { status, attempts } = (await t.call("GET", `/v1/turns/${live.turnId}`)).body;
    expect([status, attempts]).toEqual(["succeeded", 5]);
  });
});

describe("a turn that is cancelled after it was handed back", () => {
  const kept = async (agentId: string, sessionId: string) => {
    const [, answer] = await messagesOf(t, agentId, sessionId);
    return textsOf(answer.parts);
  };

  test("keeps what its readers have with keep: partial, of the step that broke off too", async () => {
    const agentId = await makeAgent(h, t, { tools });
    const { sessionId } = await handedBackTurn(h, t, agentId);
    const body = { keep: "partial" };
    expect((await t.call("POST", sessionPath(agentId, sessionId, "/cancel"), { body })).status).toBe(202);
    await expectKept(agentId, sessionId, ["First.", "one "]);
  });

  test("keeps the same when another turn interrupts it", async () => {
    const agentId = await makeAgent(h, t, { tools });
    const { sessionId } = await handedBackTurn(h, t, agentId);
    const body = { message: script("text=Next"), onBusy: "interrupt" };
    const next = await open(h, t, "POST", sessionPath(agentId, sessionId), { body });
    await work(() => next.rest());
    expect(await kept(agentId, sessionId)).toEqual(["First.", "one "]);
  });

  test("keeps the same while the next claim still prepares it", async () => {
    await using held = holdModel(h.model);
    const { agentId, sessionId, turnId } = await summarisedNext(held.url);
    await work(async () => {
      await eventually(async () => (await t.call("GET", `/v1/turns/${turnId}`)).body.attempts === 2);
      const body = { keep: "partial" };
      expect((await t.call("POST", sessionPath(agentId, sessionId, "/cancel"), { body })).status).toBe(202);
      await idle(h, sessionId);
    });
    expect((await errorOf(turnId))[0]).toBe("canceled");
    await expectKept(agentId, sessionId, ["First.", "one "]);
  });
});

describe("a continuation", () => {
  const approvalInChat = {
    default: "full" as const,
    overrides: [{ tool: "memory_save", mcpConnectionId: null, mode: "manual" as const }],
  };
  /** A turn that has asked, was approved, and waits for a worker. */
  async function approved(rest: string) {
    const agentId = await makeAgent(h, t, { tools: [...tools, "memory"], approvalInChat });
    const message = script(`text="Asking." tool=memory_save args={"text":"tea"} ; ${rest}`);
    const { sessionId, turnId } = await work(() => play(t, agentId, null, { message }));
    const path = sessionPath(agentId, sessionId, "/tool-approvals");
    const { approvals, continuation } = (await t.call("GET", path)).body;
    expect((await t.call("POST", `${path}/${approvals[0].id}`, { body: { approved: true } })).status).toBe(202);
    return { agentId, sessionId, turnId, continuationId: continuation.id as string };
  }
  const statesOf = (parts: readonly Part[]) =>
    parts.flatMap(({ type, state }) => (type.startsWith("tool-") ? [state] : []));

  test("that is taken out of the queue after a completed step keeps it, and the session's preview says so", async () => {
    const { agentId, sessionId, turnId, continuationId } = await approved(
      'text="First." tool=write_todos args={"todos":[]} ; text="one two" hangAfterChunks=1',
    );
    const path = sessionPath(agentId, sessionId, `/tool-approval-continuations/${continuationId}`);
    await work(async () => {
      const live = await open(h, t, "GET", path);
      await live.until("finish-step");
      await live.until("text-delta");
      await live.leave();
    });
    await eventually(
      async () => (await h.sql`select 1 from turns where id = ${turnId} and status = 'queued'`).length > 0,
    );
    expect(await discard(turnId)).toBe("turn");
    expect(await errorOf(turnId)).toEqual(["failed", "service_unavailable"]);
    const [, answer] = await messagesOf(t, agentId, sessionId);
    expect(statesOf(answer.parts)).toEqual(["output-available", "output-available"]);
    await expectKept(agentId, sessionId, ["Asking.", "First."]);
  });

  test("that is taken out of the queue before it ran: its calls end with the reason", async () => {
    const { agentId, sessionId, turnId } = await approved("text=never");
    expect(await discard(turnId)).toBe("turn");
    const [, answer] = await messagesOf(t, agentId, sessionId);
    expect(statesOf(answer.parts)).toEqual(["output-error"]);
    expect(answer.parts.at(-1).errorText).toBe("The operator took this out of the queue.");
    expect((await t.call("GET", `/v1/agents/${agentId}/memories`)).body.data).toEqual([]);
  });

  test("that fails keeps what it has said, and the session's preview says so", async () => {
    const { agentId, sessionId, turnId } = await approved('text="one two" failAfterChunks=1');
    await work(() => idle(h, sessionId));
    expect(await errorOf(turnId)).toEqual(["failed", "provider_error"]);
    const [, answer] = await messagesOf(t, agentId, sessionId);
    expect(await previewOf(agentId, sessionId)).toBe(textsOf(answer.parts).join(" ").trim());
  });
});
