import { answerCall, roundTrip, type Settle } from "./client-tools.ts";
import { readEvents } from "./events.ts";
import { clientTool, drawPlan, type OnBusy, type Plan, scripts } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Entry, History, Message, ToolResult } from "./record.ts";

/** What all clients share. */
export interface World {
  readonly history: History;
  readonly token: string;
  /** A shared session's agent is that of its slot's number, around and around. */
  readonly agents: readonly string[];
  /** The shared sessions of the moment. */
  readonly slots: (string | null)[];
  /** The HTTP processes. */
  readonly urls: readonly string[];
}

export type RequestOptions = {
  readonly kind: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Record<string, string>;
  readonly op?: string;
  readonly sessionId?: string | null;
  readonly message?: Message | null;
  readonly cutAt?: string | null;
  readonly onBusy?: OnBusy;
  readonly result?: ToolResult;
  readonly leaveAfterChunks?: number;
  /** Of a stream that is taken up again. */
  readonly from?: number;
};

/** One client: it does what its seed says, one thing after another, and notes the responses. */
export class RandomClient {
  readonly #world: World;
  readonly #random: Random;
  readonly #servers: Random;
  readonly #name: string;
  #ops = 0;
  #requests = 0;
  /** What it waits for just now, for a report of what hangs. */
  doing = "nothing";

  constructor(world: World, name: string, random: Random, servers: Random) {
    this.#world = world;
    this.#name = name;
    this.#random = random;
    this.#servers = servers;
  }

  /** Goes on until `over` says so. */
  async run(over: () => boolean): Promise<void> {
    while (!over()) {
      const plan = drawPlan(this.#random, this.#world.slots.length);
      this.#ops += 1;
      await new Promise((resolve) => setTimeout(resolve, plan.pauseMs));
      if (over()) break;
      this.doing = `${plan.kind} ${plan.script}`;
      await this.#play(plan);
      this.doing = "nothing";
    }
  }

  async #play(plan: Plan): Promise<void> {
    const sessionId = this.#world.slots[plan.slot] ?? null;
    if (plan.kind === "turn") return this.#turn(plan, plan.fresh ? null : sessionId);
    if (plan.kind === "generate") return this.#generate(plan);
    if (sessionId === null) return;
    const acts: Record<Exclude<Plan["kind"], "turn" | "generate">, () => Promise<unknown>> = {
      join: () => this.#join(plan, sessionId),
      regenerate: () => this.#regenerate(plan, sessionId),
      decide: () => this.#decide(plan, sessionId),
      cancel: () => this.#cancel(plan, sessionId),
      read: () => this.#messages(plan, sessionId),
      delete: () => this.#delete(plan, sessionId),
      fork: () => this.#fork(plan, sessionId),
      answer: () => this.#settle(plan, sessionId, answerCall),
      "round trip": () => this.#settle(plan, sessionId, roundTrip),
    };
    await acts[plan.kind]();
  }

  #cancel({ keep, dropsLine, ...plan }: Plan, sessionId: string): Promise<Entry> {
    const path = this.#path(plan, sessionId, "/cancel");
    const body = keep === "nothing" && !dropsLine ? {} : { body: { keep, queued: dropsLine } };
    return this.#send({ kind: "cancel", method: "POST", path, sessionId, ...body });
  }

  async #turn(plan: Plan, sessionId: string | null): Promise<void> {
    const waits = sessionId === null || plan.onBusy === "reject" ? {} : { onBusy: plan.onBusy };
    const mark = `${this.#name}-${this.#ops}`;
    const message: Message = {
      id: `m-${mark}`,
      role: "user",
      parts: [{ type: "text", text: `${mark} ${scripts[plan.script](mark)}` }],
    };
    const send = () =>
      this.#send({
        kind: "turn",
        method: "POST",
        path: this.#path(plan, sessionId),
        body: { message, stream: plan.stream, metadata: { op: mark }, ...waits },
        headers: plan.repeat === "never" ? {} : { "idempotency-key": mark },
        op: mark,
        sessionId,
        message,
        ...waits,
        leaveAfterChunks: plan.leaveAfterChunks,
      });
    const sent = plan.repeat === "at once" ? await Promise.all([send(), send()]) : [await send()];
    const unsure = sent.every(({ status }) => status === null || status === 503);
    if (plan.repeat === "on failure" && unsure) sent.push(await send());
    const made = sent
      .find(({ location }) => location !== null)
      ?.location?.split("/")
      .at(-1);
    if (made !== undefined) this.#world.slots[plan.slot] = made;
    const last = sent.at(-1)!;
    if (plan.stream && plan.resumes) await this.#resume(plan, last);
    const asked = sessionId ?? made;
    if (asked !== undefined) await this.#goOn(plan, asked, last);
  }

  /** Does what a turn has stopped for, mostly. */
  async #goOn(plan: Plan, sessionId: string, { reading }: Entry): Promise<void> {
    const types = new Set(reading?.chunks.map(({ type }) => type));
    const calls = reading?.chunks.some(({ toolName }) => toolName === clientTool.name);
    if (types.has("tool-approval-request") && plan.where < 0.8) await this.#decide(plan, sessionId);
    if (calls && plan.where > 0.1) await this.#settle(plan, sessionId, plan.where < 0.6 ? answerCall : roundTrip);
  }

  #settle(plan: Plan, sessionId: string, settle: Settle): Promise<void> {
    const op = `${this.#name}-${this.#ops}`;
    const path = (rest: string) => this.#path(plan, sessionId, rest);
    return settle((options) => this.#send({ ...options, sessionId }), path, plan, op);
  }

  async #generate(plan: Plan): Promise<void> {
    const mark = `${this.#name}-${this.#ops}`;
    const script = ["hanging", "tool", "steps", "client"].includes(plan.script) ? "quick" : plan.script;
    const message = { id: `m-${mark}`, role: "user" as const, parts: [{ type: "text", text: scripts[script](mark) }] };
    await this.#send({
      kind: "generate",
      method: "POST",
      path: `/v1/agents/${this.#world.agents[0]}/generate`,
      body: { messages: [message], stream: plan.stream, metadata: { op: mark } },
      op: mark,
      message,
    });
  }

  async #join(plan: Plan, sessionId: string): Promise<void> {
    const path = this.#path(plan, sessionId, "/stream");
    const { leaveAfterChunks } = plan;
    const joined = await this.#send({ kind: "join", method: "GET", path, sessionId, leaveAfterChunks });
    if (plan.resumes) await this.#resume(plan, joined);
  }

  /** Goes on where a stream broke off. By then another turn may run, and is then read from its start. */
  async #resume(plan: Plan, { reading, sessionId, location }: Entry): Promise<void> {
    const last = reading?.ids.at(-1);
    const session = sessionId ?? location?.split("/").at(-1);
    if (reading?.finished !== false || last === undefined || session === undefined) return;
    await this.#send({
      kind: "resume",
      method: "GET",
      path: this.#path(plan, session, "/stream"),
      headers: { "last-event-id": last },
      sessionId: session,
      from: reading.from + reading.ids.length,
    });
  }

  async #messages(plan: Plan, sessionId: string): Promise<Message[]> {
    const path = this.#path(plan, sessionId, "/messages?limit=200");
    const { body } = await this.#send({ kind: "read", method: "GET", path, sessionId });
    return body?.data ?? [];
  }

  /** A message of the session, in half of the cases; else null. */
  async #someMessage(plan: Plan, sessionId: string): Promise<string | null> {
    const messages = plan.where < 0.5 ? [] : await this.#messages(plan, sessionId);
    return messages[Math.floor((plan.where - 0.5) * 2 * messages.length)]?.id ?? null;
  }

  /** Its name is in the metadata, so that one is known whose response never came. */
  async #fork(plan: Plan, sessionId: string): Promise<void> {
    const cutAt = await this.#someMessage(plan, sessionId);
    const op = `${this.#name}-${this.#ops}`;
    const path = this.#path(plan, sessionId, "/fork");
    const body = { metadata: { op }, ...(cutAt === null ? {} : { throughMessageId: cutAt }) };
    const { body: made, status } = await this.#send({ kind: "fork", method: "POST", path, body, op, sessionId, cutAt });
    if (status === 201 && plan.takesSlot) this.#world.slots[plan.slot] = made.id;
  }

  async #regenerate(plan: Plan, sessionId: string): Promise<void> {
    const cutAt = await this.#someMessage(plan, sessionId);
    const op = `${this.#name}-${this.#ops}`;
    const waits = plan.onBusy === "reject" ? {} : { onBusy: plan.onBusy };
    await this.#send({
      kind: "regenerate",
      method: "POST",
      path: this.#path(plan, sessionId),
      body: {
        trigger: "regenerate-message",
        stream: plan.stream,
        metadata: { op },
        ...(cutAt === null ? {} : { messageId: cutAt }),
        ...waits,
      },
      op,
      sessionId,
      message: null,
      cutAt,
      ...waits,
      leaveAfterChunks: plan.leaveAfterChunks,
    });
  }

  async #decide(plan: Plan, sessionId: string): Promise<void> {
    const path = this.#path(plan, sessionId, "/tool-approvals");
    const { body } = await this.#send({ kind: "approvals", method: "GET", path, sessionId });
    const approvals: { id: string; status: string }[] = body?.approvals ?? [];
    const pending = approvals.filter(({ status }) => status === "pending");
    // Now and then one that is decided already, which must be refused.
    const from = pending.length > 0 || plan.where > 0.2 ? pending : approvals;
    const chosen = from[Math.floor(plan.where * from.length)];
    if (chosen === undefined) return;
    const decided = await this.#send({
      kind: "decide",
      method: "POST",
      path: `${path}/${chosen.id}`,
      body: { approved: plan.approved },
      sessionId,
    });
    const continuation = decided.body?.continuation?.id;
    if (continuation === undefined) return;
    const followed = this.#path(plan, sessionId, `/tool-approval-continuations/${continuation}`);
    const { leaveAfterChunks } = plan;
    await this.#send({ kind: "continue", method: "GET", path: followed, sessionId, leaveAfterChunks });
  }

  async #delete(plan: Plan, sessionId: string): Promise<void> {
    const path = this.#path(plan, sessionId, "?deleteArtifacts=false");
    const { status } = await this.#send({ kind: "delete", method: "DELETE", path, sessionId });
    if (status === 204 && this.#world.slots[plan.slot] === sessionId) this.#world.slots[plan.slot] = null;
  }

  #path({ slot }: Pick<Plan, "slot">, sessionId: string | null, rest = ""): string {
    const agent = this.#world.agents[slot % this.#world.agents.length];
    return `/v1/agents/${agent}/sessions${sessionId === null ? "" : `/${sessionId}`}${rest}`;
  }

  /** Sends a request to one of the HTTP processes and notes what comes of it. Never rejects. */
  async #send(options: RequestOptions): Promise<Entry> {
    const { history } = this.#world;
    this.#requests += 1;
    const id = `${this.#name}-r${this.#requests}`;
    const { kind, sessionId = null, message = null, cutAt = null, onBusy = "reject", result } = options;
    const entry = history.begin({
      ...{ id, op: options.op ?? id, kind, sessionId, message, cutAt, onBusy },
      ...(result === undefined ? {} : { result }),
    });
    try {
      await this.#exchange(entry, options);
    } catch (error) {
      entry.failure = String(error);
    }
    entry.endedAt = Date.now();
    return entry;
  }

  async #exchange(entry: Entry, options: RequestOptions): Promise<void> {
    const url = `${this.#servers.pick(this.#world.urls)}${options.path}`;
    // A connection of its own each time: a kept one that has broken is used again by `fetch` in silence, request and all.
    const connection = { keepalive: false, timeout: false };
    const response = await fetch(url, {
      method: options.method,
      headers: {
        authorization: `Bearer ${this.#world.token}`,
        "content-type": "application/json",
        "x-request-id": entry.id,
        ...options.headers,
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...connection,
    } as RequestInit);
    entry.status = response.status;
    entry.respondedAt = Date.now();
    entry.turnId = response.headers.get("x-turn-id");
    entry.location = response.headers.get("location");
    const made = entry.location?.split("/").at(-1);
    if (made !== undefined) this.#world.history.sessions.add(made);
    if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
      entry.reading = { from: options.from ?? 0, ids: [], chunks: [], finished: false, left: false };
      await readEvents(response, entry.reading, options.leaveAfterChunks ?? Number.POSITIVE_INFINITY);
      return;
    }
    const text = await response.text();
    if (text === "") return;
    entry.body = JSON.parse(text);
    entry.code = entry.body.error?.code ?? null;
  }
}
