// @ts-check
/**
 * Late joiners: a few sessions run long slow turns one after the other, and many
 * clients join them at random moments. Each must see the whole sequence once,
 * however late it comes.
 */
import { sleep } from "k6";
import { makeAgent, must, requireAgent, responseTimeout, settings, summaryTrendStats, wholeNumber } from "./client.js";
import { count, ms, report, share } from "./report.js";
import { joinBounds, joinTurn, longTurns, makeSessions, runLongTurn } from "./steps.js";

requireAgent();

/** Turns that run at any moment, and how long each takes: by itself 5 s. */
const turns = wholeNumber("TURNS", 4);
const chunks = wholeNumber("CHUNKS", 100);
const chunkDelayMs = wholeNumber("CHUNK_DELAY_MS", 50);

/** @type {import("k6/options").Options} */
export const options = {
  scenarios: {
    ...longTurns("runs", turns, settings.duration),
    joiners: {
      executor: "constant-vus",
      exec: "joins",
      vus: settings.clients,
      duration: settings.duration,
      gracefulStop: responseTimeout,
    },
  },
  thresholds: joinBounds,
  setupTimeout: "120s",
  summaryTrendStats,
};

/** @typedef {{ agentId: string, sessionIds: string[] }} Known */

/** @returns {Known} */
export function setup() {
  const agentId = makeAgent("joins", {});
  return { agentId, sessionIds: makeSessions(agentId, turns) };
}

/** @param {Known} known */
export function runs({ agentId, sessionIds }) {
  runLongTurn(agentId, /** @type {string} */ (sessionIds[Number(__ENV.SESSION)]), chunks, chunkDelayMs);
}

/** @param {Known} known */
export function joins({ agentId, sessionIds }) {
  sleep((Math.random() * chunks * chunkDelayMs) / 1000);
  joinTurn(agentId, /** @type {string} */ (sessionIds[Math.floor(Math.random() * sessionIds.length)]), chunks);
}

/** @param {Known} known */
export function teardown({ agentId }) {
  must("DELETE", `/v1/agents/${agentId}`, 204);
}

export const handleSummary = report("joins", { turns, chunks, chunkDelayMs }, (metrics) => ({
  turns: count(metrics.long_turns),
  joins: count(metrics.joins),
  "joins between turns": count(metrics.joins_idle),
  "first byte, median": ms(metrics.join_first_byte_ms, "med"),
  "p(95)": ms(metrics.join_first_byte_ms, "p(95)"),
  "turns failed": share(metrics.long_turn_failed),
  "joins failed": share(metrics.join_failed),
}));
