// @ts-check
/**
 * A soak: turns, reads and joins together for minutes, with the memory of each
 * process at the start and at the end. On an installation of your own, without
 * the stand, memory is not seen.
 */
import { sleep } from "k6";
import { Counter, Gauge, Rate, Trend } from "k6/metrics";
import {
  answerOf,
  bodyOf,
  call,
  faultOf,
  makeAgent,
  must,
  requireAgent,
  responseTimeout,
  sessions,
  settings,
  summaryTrendStats,
  tell,
  turnBody,
  wholeNumber,
} from "./client.js";
import { count, ms, rate, report, samplesOfStand, share } from "./report.js";
import { joinBounds, joinTurn, longTurns, makeSessions, readBounds, readSomething, runLongTurn } from "./steps.js";

requireAgent();

/** Sessions that run long turns for others to join. */
const longSessions = wholeNumber("LONG_SESSIONS", 2);
const longChunks = wholeNumber("LONG_CHUNKS", 100);
const longDelayMs = wholeNumber("LONG_DELAY_MS", 50);
/** Pause of a client between two turns, or two reads: a soak is to last, not to saturate. */
const pauseMs = wholeNumber("PAUSE_MS", 100);
/** The memory that a process may have at the end, as a multiple of what it had once it was warm. */
const growthMax = Number(__ENV.GROWTH_MAX ?? 2);
/** Caches fill and code is compiled in the first part of a run. */
const warmShare = 0.25;

const turns = new Counter("turns");
const turnMs = new Trend("turn_ms", true);
const turnFailed = new Rate("turn_failed");
/** By process: MB once it was warm and at the end, and the one over the other. */
const watched = ["serve", "work"].map((name) => ({
  name,
  start: new Gauge(`memory_start_mb_${name}`),
  end: new Gauge(`memory_end_mb_${name}`),
  growth: new Gauge(`memory_growth_${name}`),
}));

/** @param {string} exec @param {number} vus @returns {import("k6/options").ConstantVUsScenario} */
function scenario(exec, vus) {
  return { executor: "constant-vus", exec, vus, duration: settings.duration, gracefulStop: responseTimeout };
}

const third = Math.max(1, Math.floor(settings.clients / 3));

/** @type {import("k6/options").Options} */
export const options = {
  scenarios: {
    ...longTurns("runs", longSessions, settings.duration),
    turns: scenario("turn", third),
    reads: scenario("reads", third),
    joins: scenario("joins", third),
  },
  thresholds: {
    ...readBounds,
    ...joinBounds,
    turn_failed: ["rate<=0"],
    turns: ["count>0"],
    ...Object.fromEntries(watched.map(({ name }) => [`memory_growth_${name}`, [`value<${growthMax}`]])),
  },
  setupTimeout: "120s",
  summaryTrendStats,
};

/** @typedef {{ agentId: string, readAgentId: string, sessionIds: string[], readIds: string[] }} Known */

/** @returns {Known} */
export function setup() {
  const agentId = makeAgent("soak joins", {});
  const readAgentId = makeAgent("soak reads", {});
  return {
    agentId,
    readAgentId,
    sessionIds: makeSessions(agentId, longSessions),
    readIds: makeSessions(readAgentId, 60),
  };
}

/** @param {Known} known */
export function runs({ agentId, sessionIds }) {
  runLongTurn(agentId, /** @type {string} */ (sessionIds[Number(__ENV.SESSION)]), longChunks, longDelayMs);
}

export function turn() {
  const response = call("POST", "turn", sessions(), turnBody("chunks=20 delayMs=0"));
  const fault = response.status === 201 ? faultOf(bodyOf(response), answerOf(20)) : bodyOf(response);
  turnFailed.add(fault !== null);
  if (fault !== null) return tell(`turn: ${response.status}, ${fault}`);
  turns.add(1);
  turnMs.add(response.timings.duration);
  sleep(pauseMs / 1000);
}

/** @param {Known} known */
export function reads({ readAgentId, readIds }) {
  readSomething({ agentId: readAgentId, sessionIds: readIds });
  sleep(pauseMs / 1000);
}

/** @param {Known} known */
export function joins({ agentId, sessionIds }) {
  sleep(Math.random() * 2);
  joinTurn(agentId, /** @type {string} */ (sessionIds[Math.floor(Math.random() * sessionIds.length)]), longChunks);
}

/** @param {Known} known */
export function teardown({ agentId, readAgentId }) {
  const samples = samplesOfStand();
  const warm = samples[Math.floor(samples.length * warmShare)];
  const last = samples.at(-1);
  for (const { name, start, end, growth } of watched) {
    const before = warm?.processes[name]?.memoryMb;
    const after = last?.processes[name]?.memoryMb;
    if (before === undefined || after === undefined) continue;
    start.add(before);
    end.add(after);
    growth.add(after / before);
  }
  for (const id of [agentId, readAgentId]) must("DELETE", `/v1/agents/${id}`, 204);
}

export const handleSummary = report("soak", { longSessions, pauseMs }, (metrics, samples) => {
  const first = samples[0]?.processes ?? {};
  const last = samples.at(-1)?.processes ?? {};
  const memory = Object.keys(last).map((name) => [
    `${name}, MB`,
    `${(first[name]?.memoryMb ?? 0).toFixed(0)} → ${(last[name]?.memoryMb ?? 0).toFixed(0)}`,
  ]);
  return {
    "turns/s": rate(metrics.turns),
    "turn p(95)": ms(metrics.turn_ms, "p(95)"),
    "reads/s": rate(metrics.reads),
    "read p(95)": ms(metrics.read_ms, "p(95)"),
    joins: count(metrics.joins),
    "turns failed": share(metrics.turn_failed),
    "reads failed": share(metrics.read_failed),
    "joins failed": share(metrics.join_failed),
    ...Object.fromEntries(memory),
  };
});
