import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readConfig } from "../../../src/kernel/config.ts";
import { currentTraceparent, inSpan, isTracing, startSpan } from "../../../src/kernel/telemetry/trace.ts";
import { eventually } from "../../harness/harness.ts";
import { type Client, type Installation, sharedRedisUrl, startInstallation } from "../../harness/processes.ts";
import { logged, type ServeProcess, type WorkProcess } from "../../harness/service-process.ts";
import { type Collector, type ReceivedSpan, startCollector } from "../../servers/collector.ts";

const kinds = { internal: 1, server: 2, client: 3, consumer: 5 };

describe.skipIf(sharedRedisUrl === null)("traces", () => {
  let collector: Collector;
  let installation: Installation;
  let http: ServeProcess;
  let worker: WorkProcess;
  let c: Client;
  beforeAll(async () => {
    collector = await startCollector();
    installation = await startInstallation();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/` };
    http = await installation.serve({ ...env, OTEL_SERVICE_NAME: "parley-http" });
    worker = await installation.work(env);
    c = await installation.client(http.url);
  }, 120_000);
  afterAll(async () => {
    await installation?.[Symbol.asyncDispose]();
    await collector?.[Symbol.asyncDispose]();
  });

  const arrived = (of: (span: ReceivedSpan) => boolean) => eventually(() => collector.spans.find(of));
  const turnSpan = (turnId: string) =>
    arrived(({ name, attributes }) => name === "turn" && attributes["parley.turn.id"] === turnId);
  const childOf = (parent: ReceivedSpan, name: string) =>
    arrived((span) => span.parentSpanId === parent.spanId && span.traceId === parent.traceId && span.name === name);
  const ask = (text: string, headers: Record<string, string> = {}) =>
    c.request("POST", `/v1/agents/${c.agentId}/sessions`, { message: message(text), stream: false }, headers);

  test("one trace leads from the request over the queue to the model's call", async () => {
    const response = await ask('Where is the secret? [[sim: text="hidden"]]');
    expect(response.status).toBe(201);
    const turnId = response.headers.get("x-turn-id") as string;
    const turn = await turnSpan(turnId);
    const request = await arrived(({ spanId }) => spanId === turn.parentSpanId);
    const call = await childOf(turn, "chat simulated/model");
    expect(request).toMatchObject({
      service: "parley-http",
      name: "POST /v1/agents/:agentId/sessions",
      kind: kinds.server,
      traceId: turn.traceId,
      parentSpanId: null,
    });
    expect(request.attributes).toMatchObject({
      "http.request.method": "POST",
      "http.route": "/v1/agents/:agentId/sessions",
      "http.response.status_code": 201,
      "parley.request.id": response.headers.get("x-request-id"),
      "parley.turn.id": turnId,
    });
    expect(turn).toMatchObject({ service: "parley", kind: kinds.consumer, failed: false, events: ["first chunk"] });
    expect(turn.attributes).toMatchObject({
      "parley.tenant.id": c.tenantId,
      "gen_ai.agent.id": c.agentId,
      "parley.turn.outcome": "succeeded",
      "parley.turn.attempt": 1,
    });
    expect(call.kind).toBe(kinds.client);
    expect(call.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "custom",
      "gen_ai.request.model": "simulated/model",
      "gen_ai.response.finish_reasons": ["stop"],
    });
    const [usage] = await installation.sql<{ inputTokens: number; outputTokens: number }[]>`
      select input_tokens, output_tokens from usage where turn_id = ${turnId}`;
    expect(call.attributes["gen_ai.usage.input_tokens"]).toBe(usage!.inputTokens);
    expect(call.attributes["gen_ai.usage.output_tokens"]).toBe(usage!.outputTokens);
    for (const body of collector.bodies) expect(body).not.toMatch(/secret|hidden|sk-test/);
  });

  test("an incoming traceparent is gone on with, a broken one is not", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const given = await ask("go on", { traceparent: `00-${traceId}-b7ad6b7169203331-01` });
    const turn = await turnSpan(given.headers.get("x-turn-id") as string);
    expect(turn.traceId).toBe(traceId);
    expect((await arrived(({ spanId }) => spanId === turn.parentSpanId)).parentSpanId).toBe("b7ad6b7169203331");
    for (const broken of [
      "nonsense",
      `00-${"0".repeat(32)}-b7ad6b7169203331-01`,
      `ff-${traceId}-b7ad6b7169203331-01`,
    ]) {
      const response = await ask("anew", { traceparent: broken });
      const own = await turnSpan(response.headers.get("x-turn-id") as string);
      expect(own.traceId).not.toBe(traceId);
      expect((await arrived(({ spanId }) => spanId === own.parentSpanId)).parentSpanId).toBeNull();
    }
  });

  test("a caller that does not sample its trace is left alone", async () => {
    const traceId = "1af7651916cd43dd8448eb211c80319c";
    const silent = await ask("quiet", { traceparent: `00-${traceId}-b7ad6b7169203331-00` });
    expect(silent.status).toBe(201);
    const after = await ask("loud");
    await turnSpan(after.headers.get("x-turn-id") as string);
    expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });

  test("a failed turn says by which cause, in no vendor's words", async () => {
    const response = await ask("[[sim: fail=500]]");
    expect(response.status).toBe(502);
    const turn = await turnSpan(response.headers.get("x-turn-id") as string);
    expect(turn.failed).toBe(true);
    expect(turn.attributes).toMatchObject({ "parley.turn.outcome": "failed", "error.type": "provider_error" });
    const call = await childOf(turn, "chat simulated/model");
    expect(call.failed).toBe(true);
    const request = await arrived(({ spanId }) => spanId === turn.parentSpanId);
    expect(request.failed).toBe(true);
  });

  test("tools are steps of their turn", async () => {
    await c.request("PUT", `/v1/agents/${c.agentId}`, { tools: ["memory"], approvalInChat: { default: "full" } });
    const response = await ask('[[sim: tool=memory_save args={"text":"likes tea"} ; text="saved"]]');
    const turn = await turnSpan(response.headers.get("x-turn-id") as string);
    const tool = await childOf(turn, "execute_tool memory_save");
    expect(tool).toMatchObject({ kind: kinds.internal, failed: false });
    expect(tool.attributes["gen_ai.tool.name"]).toBe("memory_save");
    expect(
      collector.spans.filter((span) => span.parentSpanId === turn.spanId && span.name.startsWith("chat ")),
    ).toHaveLength(2);
  });

  test("a turn that goes on after a decision stays in its trace", async () => {
    await c.request("PUT", `/v1/agents/${c.agentId}`, { tools: ["memory"], approvalInChat: { default: "manual" } });
    const response = await ask('[[sim: tool=memory_save args={"text":"likes tea"} ; text="saved"]]');
    const turnId = response.headers.get("x-turn-id") as string;
    const asked = await turnSpan(turnId);
    expect(asked.attributes["parley.turn.outcome"]).toBe("waiting");
    const approvals = `${response.headers.get("location")}/tool-approvals`;
    const listed = (await (await c.request("GET", approvals)).json()) as { approvals: { id: string }[] };
    const decided = await c.request("POST", `${approvals}/${listed.approvals[0]?.id}`, { approved: true });
    expect(decided.status).toBe(202);
    const resumed = await arrived(
      ({ attributes }) => attributes["parley.turn.id"] === turnId && "parley.continuation.id" in attributes,
    );
    expect(resumed).toMatchObject({ traceId: asked.traceId, parentSpanId: asked.parentSpanId });
    await childOf(resumed, "execute_tool memory_save");
  });

  test("a request id leads to its turn in both processes' logs", async () => {
    const response = await ask("find me", { "x-request-id": "find-me-in-the-logs" });
    const turnId = response.headers.get("x-turn-id");
    const accepted = await eventually(() =>
      http.log.find(({ msg, requestId }) => msg === "turn accepted" && requestId === "find-me-in-the-logs"),
    );
    const ended = await eventually(() =>
      worker.log.find(({ msg, requestId }) => msg === "turn ended" && requestId === "find-me-in-the-logs"),
    );
    expect(accepted).toMatchObject({ turnId, tenantId: c.tenantId, agentId: c.agentId });
    expect(ended).toMatchObject({ turnId, tenantId: c.tenantId, sessionId: accepted.sessionId, status: "succeeded" });
  });

  test("monitors make no traces", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics"]) await fetch(`${http.url}${path}`);
    await turnSpan((await ask("and then")).headers.get("x-turn-id") as string);
    expect(collector.spans.filter(({ name }) => /healthz|readyz|metrics|unmatched/.test(name))).toEqual([]);
  });

  test("what is left is sent at the end, and a collector that is away holds nothing up", async () => {
    const away = await installation.serve({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
    expect((await c.at(away.url).json("all the same")).status).toBe(201);
    away.signal("SIGTERM");
    expect((await away.exited).code).toBe(0);
    const last = await ask("last words");
    http.signal("SIGTERM");
    await http.exited;
    expect(
      collector.spans.some(
        ({ attributes, service }) =>
          service === "parley-http" && attributes["parley.turn.id"] === last.headers.get("x-turn-id"),
      ),
    ).toBe(true);
  }, 120_000);
});

describe.skipIf(sharedRedisUrl === null)("traces with contents", () => {
  test("hold the instructions, the messages, the answer and the tool's call as the conventions shape them", async () => {
    await using collector = await startCollector();
    await using installation = await startInstallation();
    const contents = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" };
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...contents };
    const http = await installation.serve(env);
    await installation.work(env);
    const c = await installation.client(http.url);
    const instructions = "Be brief and kind.";
    await c.request("PUT", `/v1/agents/${c.agentId}`, {
      instructions,
      tools: ["memory"],
      approvalInChat: { default: "full" },
    });
    const asked = message('[[sim: tool=memory_save args={"text":"likes tea"} ; reasoning="hm" text="Noted."]]');
    const response = await c.request("POST", `/v1/agents/${c.agentId}/sessions`, { message: asked, stream: false });
    expect(response.status).toBe(201);
    const calls = await eventually(() => {
      const found = collector.spans.filter(({ name }) => name.startsWith("chat "));
      return found.length === 2 ? found : null;
    });
    const tool = await eventually(() => collector.spans.find(({ name }) => name === "execute_tool memory_save"));
    const read = (span: ReceivedSpan | undefined, name: string) => JSON.parse(String(span?.attributes[name]));
    const last = calls.find(({ attributes }) => String(attributes["gen_ai.output.messages"]).includes("Noted"));
    expect(String(last?.attributes["gen_ai.system_instructions"])).toContain(instructions);
    expect(read(last, "gen_ai.input.messages")).toMatchObject([
      { role: "user", parts: [{ type: "text", content: asked.parts[0]?.text }] },
      { role: "assistant", parts: [{ type: "tool_call", name: "memory_save", arguments: '{"text":"likes tea"}' }] },
      { role: "tool", parts: [{ type: "tool_call_response", response: expect.any(String) }] },
    ]);
    expect(read(last, "gen_ai.output.messages")).toEqual([
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "hm" },
          { type: "text", content: "Noted." },
        ],
        finish_reason: "stop",
      },
    ]);
    const first = calls.find((span) => span !== last);
    expect(read(first, "gen_ai.output.messages")[0]).toMatchObject({
      parts: [{ type: "tool_call", name: "memory_save" }],
      finish_reason: "tool_call",
    });
    expect(tool.attributes["gen_ai.tool.call.arguments"]).toBe('{"text":"likes tea"}');
    expect(String(tool.attributes["gen_ai.tool.call.result"])).not.toBe("");
    for (const body of collector.bodies) expect(body).not.toContain(c.token);
  }, 120_000);
});

describe("without a collector", () => {
  test("nothing is traced, and no SDK is loaded", async () => {
    expect(readConfig({}).collectorUrl).toBeNull();
    expect(isTracing()).toBe(false);
    const asked = () => {
      throw new Error("Nobody needs to know.");
    };
    expect(await inSpan("nothing", asked, async () => currentTraceparent())).toBeNull();
    startSpan("nothing", asked).end();
  });

  test("an endpoint that is no URL stops the start", () => {
    expect(() => readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" })).toThrow(/OTEL_EXPORTER_OTLP_ENDPOINT/);
  });

  test.skipIf(sharedRedisUrl === null)(
    "a turn's row holds no trace",
    async () => {
      await using installation = await startInstallation();
      const http = await installation.serve();
      const worker = await installation.work();
      await logged(worker, "working");
      const c = await installation.client(http.url);
      const response = await c.request(
        "POST",
        `/v1/agents/${c.agentId}/sessions`,
        { message: message("hello"), stream: false },
        { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
      );
      expect(response.status).toBe(201);
      expect(await installation.sql`select traceparent from turns`.then((rows) => [...rows])).toEqual([
        { traceparent: null },
      ]);
    },
    120_000,
  );
});

function message(text: string) {
  return { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
}
