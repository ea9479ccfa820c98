/**
 * A tenant's client that asks for a short turn again and again, and for its agent after
 * each, in a process of its own so that nothing else in `neighbours.ts` slows it. Prints
 * what it measured as one line of JSON.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { printLine, quantile } from "./figures.ts";

const { values } = parseArgs({
  options: {
    url: { type: "string", default: "" },
    key: { type: "string", default: "" },
    agent: { type: "string", default: "" },
    seconds: { type: "string", default: "8" },
  },
});
/** Between two turns, as a person would wait. */
const pauseMs = 30;
/** A turn without a first text within this counts as one that took so long. */
const patienceMs = 20_000;

const headers = { "content-type": "application/json", authorization: `Bearer ${values.key}` };
const firstTexts: number[] = [];
const reads: number[] = [];
let serverErrors = 0;
let otherErrors = 0;

function count(status: number): void {
  if (status >= 500) serverErrors += 1;
  else if (status >= 400) otherErrors += 1;
}

async function turn(): Promise<void> {
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "[[sim: chunks=3 delayMs=0]]" }] };
  const sentAt = performance.now();
  const response = await fetch(`${values.url}/v1/agents/${values.agent}/sessions`, {
    method: "POST",
    headers,
    body: JSON.stringify({ message }),
    signal: AbortSignal.timeout(patienceMs),
  });
  count(response.status);
  let said = "";
  let firstAt = 0;
  const decoder = new TextDecoder();
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    said += decoder.decode(part, { stream: true });
    if (firstAt === 0 && said.includes('"text-delta"')) firstAt = performance.now();
  }
  if (firstAt === 0 || !said.includes("[DONE]") || said.includes('"type":"error"')) otherErrors += 1;
  firstTexts.push((firstAt === 0 ? performance.now() : firstAt) - sentAt);
}

async function read(): Promise<void> {
  const sentAt = performance.now();
  const response = await fetch(`${values.url}/v1/agents/${values.agent}`, {
    headers,
    signal: AbortSignal.timeout(patienceMs),
  });
  await response.text();
  count(response.status);
  reads.push(performance.now() - sentAt);
}

const endsAt = performance.now() + Number(values.seconds) * 1000;
while (performance.now() < endsAt) {
  const sentAt = performance.now();
  await turn().catch(() => {
    otherErrors += 1;
    firstTexts.push(performance.now() - sentAt);
  });
  await read().catch(() => {
    otherErrors += 1;
  });
  await sleep(pauseMs);
}
printLine(
  JSON.stringify({
    turns: firstTexts.length,
    p50: quantile(firstTexts, 0.5),
    p95: quantile(firstTexts, 0.95),
    readP95: quantile(reads, 0.95),
    serverErrors,
    otherErrors,
  }),
);
