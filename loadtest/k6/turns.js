// @ts-check
/**
 * Load on the turn: each virtual client starts sessions one after the other and
 * waits for each answer, as fast as the service gives them.
 *
 *     k6 run -e BASE_URL=http://127.0.0.1:8080 -e API_KEY=parley_… -e AGENT_ID=ag_… loadtest/k6/turns.js
 *
 * MODE says what a client calls:
 *   json    the turn endpoint, whole answer (`stream: false`)
 *   stream  the turn endpoint, the AI SDK's UI message stream
 *   direct  the model itself at MODEL_URL, streamed: the baseline, what the load
 *           generator and the model cost without the service between them
 *
 * k6 reads a response whole before a script sees it. So `first_byte_ms` is the
 * time to the response's first byte (`timings.waiting`): in `direct` that is the
 * model's first event; in `stream` it is the status line, or the first chunk
 * with it when the server sends both together; in `json` the whole turn.
 */
import http from "k6/http";
import { Counter, Rate, Trend } from "k6/metrics";
import {
  answerOf,
  bodyOf,
  call,
  faultOf,
  requireAgent,
  responseTimeout,
  sessions,
  settings,
  summaryTrendStats,
  tell,
  turnBody,
  wholeNumber,
} from "./client.js";
import { count, ms, rate, report, share } from "./report.js";

const modelUrl = __ENV.MODEL_URL ?? "http://127.0.0.1:9100/v1";
const mode = __ENV.MODE ?? "json";
/** Chunks of an answer, and the pause between them. */
const chunks = wholeNumber("CHUNKS", 20);
const chunkDelayMs = wholeNumber("CHUNK_DELAY_MS", 0);
/** Bound of the run's verdict: generous, because 200 clients on a small machine wait for each other. */
const turnP95MsMax = wholeNumber("TURN_P95_MS_MAX", 10_000);

const turnMs = new Trend("turn_ms", true);
const firstByteMs = new Trend("first_byte_ms", true);
const turnFailed = new Rate("turn_failed");
const turns = new Counter("turns");

const modes = { json: jsonTurn, stream: streamTurn, direct: directTurn };
const play = modes[/** @type {keyof typeof modes} */ (mode)];
if (play === undefined) throw new Error(`MODE is json, stream or direct, not ${mode}.`);
if (mode !== "direct") requireAgent();

/** @type {import("k6/options").Options} */
export const options = {
  scenarios: {
    turns: {
      executor: "constant-vus",
      vus: settings.clients,
      duration: settings.duration,
      gracefulStop: responseTimeout,
    },
  },
  thresholds: {
    turn_failed: ["rate<=0.001"],
    turn_ms: [`p(95)<${turnP95MsMax}`],
    turns: ["count>0"],
  },
  summaryTrendStats,
};

const script = `chunks=${chunks} delayMs=${chunkDelayMs}`;
const answer = answerOf(chunks);

export default function turn() {
  const { response, fault } = play();
  turnFailed.add(fault !== null);
  if (fault !== null) return tell(`${mode} turn: ${response.status}, ${fault}`);
  turns.add(1);
  turnMs.add(response.timings.duration);
  firstByteMs.add(response.timings.waiting);
}

/** @typedef {{ response: import("k6/http").Response, fault: string | null }} Outcome */

/** @returns {Outcome} */
function jsonTurn() {
  const response = call("POST", mode, sessions(), turnBody(script, false));
  const whole = response.status === 201 && bodyOf(response).includes(JSON.stringify(answer));
  return { response, fault: whole ? null : "not the whole answer" };
}

/** @returns {Outcome} */
function streamTurn() {
  const response = call("POST", mode, sessions(), turnBody(script));
  return { response, fault: response.status === 201 ? faultOf(bodyOf(response), answer) : bodyOf(response) };
}

/** @returns {Outcome} */
function directTurn() {
  const messages = [{ role: "user", content: `[[sim: ${script}]]` }];
  const response = http.post(
    `${modelUrl}/chat/completions`,
    JSON.stringify({ model: "simulated/model", stream: true, messages }),
    {
      headers: { "Content-Type": "application/json" },
      responseType: "text",
      timeout: responseTimeout,
      tags: { name: mode },
    },
  );
  const whole = response.status === 200 && bodyOf(response).includes(`chunk-${chunks} `);
  return { response, fault: whole ? null : "not the whole answer" };
}

export const handleSummary = report("turns", { mode, chunks, chunkDelayMs }, (metrics) => ({
  mode,
  "turns/s": rate(metrics.turns),
  "first byte, median": ms(metrics.first_byte_ms, "med"),
  "whole turn, median": ms(metrics.turn_ms, "med"),
  "p(95)": ms(metrics.turn_ms, "p(95)"),
  turns: count(metrics.turns),
  failed: share(metrics.turn_failed),
}));
