// @ts-check
/**
 * One hot session: in each round CLIENTS requests ask for a turn of the same
 * session at once. Exactly one is accepted, all others are 409 `session_busy`,
 * and nothing else ever comes back. The turn lasts longer than a round takes to
 * arrive, so that nobody comes late enough to be the next one.
 */
import http from "k6/http";
import { Counter, Rate, Trend } from "k6/metrics";
import {
  bodyOf,
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
import { count, ms, report, share } from "./report.js";
import { makeSessions } from "./steps.js";

requireAgent();

/** How long the accepted turn of a round runs. */
const turnMs = wholeNumber("TURN_MS", 3000);

const rounds = new Counter("rounds");
const accepted = new Counter("accepted");
const busy = new Counter("busy");
/** Rounds with none or several accepted. */
const roundFailed = new Rate("round_failed");
/** Responses that are neither the turn nor `session_busy`. */
const otherResponse = new Rate("other_response");
const busyMs = new Trend("busy_ms", true);

/** @type {import("k6/options").Options} */
export const options = {
  scenarios: {
    storm: { executor: "constant-vus", vus: 1, duration: settings.duration, gracefulStop: responseTimeout },
  },
  // All requests of a round at once; by themselves batches send six at a time.
  batch: settings.clients,
  batchPerHost: settings.clients,
  thresholds: {
    round_failed: ["rate<=0"],
    other_response: ["rate<=0"],
    rounds: ["count>0"],
    busy_ms: ["p(95)<2500"],
  },
  summaryTrendStats,
};

/** @returns {{ agentId: string, sessionIds: string[] }} */
export function setup() {
  const agentId = makeAgent("hot", {});
  return { agentId, sessionIds: makeSessions(agentId, 1) };
}

/** @param {{ agentId: string, sessionIds: string[] }} known */
export default function storm({ agentId, sessionIds }) {
  const url = `${settings.baseUrl}${sessions(`/${sessionIds[0]}`, agentId)}`;
  const params = {
    headers: { Authorization: `Bearer ${settings.apiKey}`, "Content-Type": "application/json" },
    responseType: /** @type {"text"} */ ("text"),
    timeout: responseTimeout,
    tags: { name: "storm" },
  };
  const requests = Array.from({ length: settings.clients }, () => ({
    method: "POST",
    url,
    body: JSON.stringify(turnBody(`chunks=2 delayMs=${turnMs}`, false)),
    params,
  }));
  const responses = /** @type {import("k6/http").Response[]} */ (/** @type {unknown} */ (http.batch(requests)));
  let winners = 0;
  for (const response of responses) {
    const isBusy = response.status === 409 && JSON.parse(bodyOf(response)).error.code === "session_busy";
    const isTurn = response.status === 200 || response.status === 201;
    otherResponse.add(!isBusy && !isTurn);
    if (!isBusy && !isTurn) tell(`storm: ${response.status} ${bodyOf(response)}`);
    if (isTurn) winners += 1;
    if (isBusy) {
      busy.add(1);
      busyMs.add(response.timings.duration);
    }
  }
  accepted.add(winners);
  rounds.add(1);
  roundFailed.add(winners !== 1);
  if (winners !== 1) tell(`storm: ${winners} of ${responses.length} were accepted`);
}

/** @param {{ agentId: string }} known */
export function teardown({ agentId }) {
  must("DELETE", `/v1/agents/${agentId}`, 204);
}

export const handleSummary = report("hot", { turnMs }, (metrics) => ({
  rounds: count(metrics.rounds),
  accepted: count(metrics.accepted),
  "409 session_busy": count(metrics.busy),
  "409, median": ms(metrics.busy_ms, "med"),
  "p(95)": ms(metrics.busy_ms, "p(95)"),
  "rounds without exactly one": share(metrics.round_failed),
  "other responses": share(metrics.other_response),
}));
