import { expect, test } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { registry } from "../../../src/kernel/telemetry/metrics.ts";
import { watchForStalls } from "../../../src/kernel/telemetry/stalls.ts";
import { noteDoing, type Work, workFor, workHere } from "../../../src/kernel/telemetry/work.ts";
import { eventually } from "../../harness/eventually.ts";
import { useTenant } from "../../harness/fixture.ts";
import { sampleOf } from "../../harness/prometheus.ts";

const { h, t } = await useTenant();
const counted = async () => sampleOf(await registry.metrics(), "parley_event_loop_stalls_total") ?? 0;

/** Runs work under the watchdog, and returns its lines. */
async function linesOf(work: () => Promise<void>): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = [];
  const stop = watchForStalls(createLogger("info", { write: (line) => void lines.push(JSON.parse(line)) }));
  await work();
  await eventually(() => lines.length > 0);
  stop();
  return lines;
}

/** Holds the loop for a time of which the process computes enough, on a busy machine too. */
const hold = (ms: number) => {
  const until = performance.now() + ms;
  const before = process.cpuUsage();
  while (performance.now() < until || process.cpuUsage(before).user < 200_000);
};

test("a stall is counted, and its line says what the loop stood in and for whom", async () => {
  const before = await counted();
  const turn: Work = { turnId: "turn_1", tenantId: "ten_1", requestId: "req_1" };
  const lines = await linesOf(() =>
    workFor(turn, "turn", async () => {
      await sleep(30);
      noteDoing("model's answer");
      hold(400);
    }),
  );
  const line = lines.find(({ turnId }) => turnId !== undefined);
  expect(line).toMatchObject({ level: "warn", msg: "the event loop stood", doing: "model's answer", ...turn });
  expect(line?.ms).toBeGreaterThanOrEqual(390);
  expect(line?.cpuMs).toBeGreaterThan(0);
  expect(await counted()).toBeGreaterThan(before);
});

test("a process that the system stopped stood in nothing: no line, and not counted", async () => {
  const before = await counted();
  const lines: string[] = [];
  const stop = watchForStalls(createLogger("info", { write: (line) => void lines.push(line) }));
  await sleep(30);
  Bun.sleepSync(400);
  await sleep(60);
  stop();
  expect(lines.filter((line) => (JSON.parse(line) as { cpuMs: number }).cpuMs < 100)).toEqual([]);
  expect(await counted()).toBe(before + lines.length);
});

test("what goes on at the same time keeps its own name", async () => {
  const seen: (string | undefined)[] = [];
  const work = (tenantId: string, ms: number) =>
    workFor({ tenantId }, "job", async () => {
      await sleep(ms);
      seen.push(workHere()?.tenantId);
    });
  await Promise.all([work("a", 10), work("b", 1), work("c", 5)]);
  expect(seen.toSorted()).toEqual(["a", "b", "c"]);
  expect(workHere()).toBeNull();
});

test("a request is named by its id, its route and its tenant", async () => {
  const lines = await linesOf(async () => {
    // Nothing of the service takes so long, so the test holds the loop where the body is read.
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      controller.enqueue(Buffer.from('{"name":"n"}'));
      controller.close();
      hold(400);
    };
    const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
    const headers = {
      authorization: `Bearer ${t.token}`,
      "content-type": "application/json",
      "x-request-id": "request-1",
    };
    await h.app(new Request("http://parley.test/v1/agents", { method: "POST", headers, body }));
  });
  expect(lines.some((line) => line.requestId === "request-1" && line.tenantId === t.id)).toBe(true);
  expect(lines.find(({ requestId }) => requestId === "request-1")?.route).toBe("POST /v1/agents");
});
