// @ts-check
/**
 * Mixed reads: agents, versions, session lists, transcripts and usage, at page
 * sizes from 1 to 200, on the first page and the one behind it.
 */
import {
  makeAgent,
  must,
  requireAgent,
  sessions,
  settings,
  summaryTrendStats,
  turnBody,
  wholeNumber,
} from "./client.js";
import { count, ms, rate, report, share } from "./report.js";
import { makeSessions, readBounds, readSomething } from "./steps.js";

requireAgent();

/** Sessions that the run reads, and the turns of the longest of them. */
const sessionsMade = wholeNumber("SESSIONS", 60);
const turnsOfLongest = wholeNumber("TURNS", 30);

/** @type {import("k6/options").Options} */
export const options = {
  scenarios: { reads: { executor: "constant-vus", vus: settings.clients, duration: settings.duration } },
  thresholds: readBounds,
  setupTimeout: "120s",
  summaryTrendStats,
};

export function setup() {
  const agentId = makeAgent("reads", {});
  const sessionIds = makeSessions(agentId, sessionsMade);
  const [longest] = sessionIds;
  for (let n = 1; n < turnsOfLongest; n++)
    must("POST", sessions(`/${longest}`, agentId), 200, turnBody("chunks=3 delayMs=0", false));
  return { agentId, sessionIds };
}

/** @param {{ agentId: string, sessionIds: string[] }} known */
export default function reader(known) {
  readSomething(known);
}

/** @param {{ agentId: string }} known */
export function teardown({ agentId }) {
  must("DELETE", `/v1/agents/${agentId}`, 204);
}

export const handleSummary = report("reads", { sessions: sessionsMade }, (metrics) => ({
  "reads/s": rate(metrics.reads),
  median: ms(metrics.read_ms, "med"),
  "p(95)": ms(metrics.read_ms, "p(95)"),
  "sessions p(95)": ms(metrics["read_ms{kind:sessions}"], "p(95)"),
  "messages p(95)": ms(metrics["read_ms{kind:messages}"], "p(95)"),
  "usage p(95)": ms(metrics["read_ms{kind:usage}"], "p(95)"),
  reads: count(metrics.reads),
  failed: share(metrics.read_failed),
}));
