import { expect } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../harness/eventually.ts";
import type { Bench } from "./bench.ts";
import type { Account } from "./promised.ts";
import { type Outcome, outcomeOf, Traffic } from "./traffic.ts";

/** A busy machine takes this long to begin so many turns. */
const flowingMs = 120_000;

/** Waits until all clients of some traffic have had turns. */
export function flowing(traffic: Traffic): Promise<unknown> {
  return eventually(() => traffic.turns.length > 16, flowingMs);
}

/** Has clients at both HTTP processes read streams while Redis fails, and holds what they saw to the promise. */
export async function expectWholeOver(
  bench: Bench,
  { tell, draw }: Account,
  fault: () => Promise<unknown>,
): Promise<void> {
  const clients = bench.serves.map(({ host }) => bench.c.at(`http://${host.address}:8080`));
  const traffic = new Traffic(clients, { clients: 8, words: 25, everyMs: 80 });
  await flowing(traffic);
  const beganAt = performance.now();
  const over = traffic.open.length;
  await fault();
  draw(traffic, beganAt, performance.now());
  await sleep(3_000);
  const outcome = await outcomeOf(bench.installation, await traffic.stop());
  tell(`${outcome.errors + outcome.broken} of ${outcome.turns} streams failed`, inWords(outcome, over));
  expect(outcome).toMatchObject({ errors: 0, broken: 0, refused: 0, faults: [], twice: [] });
  expect(bench.unforeseen()).toEqual([]);
}

function inWords({ whole, silenceMs }: Outcome, over: number): string {
  return `${whole} whole, of them ${over} open as it began; longest silence ${(silenceMs / 1000).toFixed(1)} s`;
}

/** Requests that were not accepted, in words. */
export function refusals({ refusals: all }: Outcome): string {
  const said = Object.entries(all).map(([status, n]) => `${n} × ${status === "0" ? "broken connection" : status}`);
  return said.length === 0 ? "no request was refused" : `refused: ${said.join(", ")}`;
}

/** Milliseconds as a text. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
