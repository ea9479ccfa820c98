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
 *   direct  the model itself at MODEL_URL, streamed: what the load generator and
 *           the model cost without the service between them
 *   bare    the bare endpoint at BARE_URL (`loadtest/bare.ts`): the baseline
 *
 * CONVERSATIONS names a file with sessions (`ids`) that have had the same turns,
 * and the `messages` of these. Then each turn is the next one of another of the
 * sessions; to the model and to the bare endpoint the messages are sent again.
 *
 * k6 reads a response whole before a script sees it. So `first_byte_ms` is the
 * time to the response's first byte (`timings.waiting`): in `direct` that is the
 * model's first event; in `stream` it is the status line, or the first chunk
 * with it when the server sends both together; in `json` the whole turn.
 */
import { SharedArray } from "k6/data";
import exec from "k6/execution";
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
const bareUrl = __ENV.BARE_URL ?? "";
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

const modes = { json: jsonTurn, stream: streamTurn, direct: directTurn, bare: bareTurn };
const play = modes[/** @type {keyof typeof modes} */ (mode)];
if (play === undefined) throw new Error(`MODE is json, stream, direct or bare, not ${mode}.`);
if (mode === "json" || mode === "stream") requireAgent();

/** @typedef {{ role: string, parts: { text: string }[] }} Message */

/** What the file of conversations has under a name. @param {string} name */
const conversations = (name) =>
  new SharedArray(name, () => (__ENV.CONVERSATIONS === undefined ? [] : JSON.parse(open(__ENV.CONVERSATIONS))[name]));
const ids = /** @type {string[]} */ (conversations("ids"));
const earlier = /** @type {Message[]} */ (Array.from(conversations("messages")));

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

/**
 * A turn of a new session, or of one of those that have had turns, of which each is used once.
 *
 * @param {boolean} stream
 */
function askService(stream) {
  const n = exec.scenario.iterationInTest;
  if (__ENV.CONVERSATIONS !== undefined && n >= ids.length) exec.test.abort("No session is left.");
  return call("POST", mode, sessions(ids.length === 0 ? "" : `/${ids[n]}`), turnBody(script, stream));
}

/** The status of a turn of a new session, or of another. */
const accepted = ids.length === 0 ? 201 : 200;

/** @returns {Outcome} */
function jsonTurn() {
  const response = askService(false);
  const whole = response.status === accepted && bodyOf(response).includes(JSON.stringify(answer));
  return { response, fault: whole ? null : "not the whole answer" };
}

/** @returns {Outcome} */
function streamTurn() {
  const response = askService(true);
  return { response, fault: response.status === accepted ? streamFault(bodyOf(response), true) : bodyOf(response) };
}

/** @returns {Outcome} */
function bareTurn() {
  const { message } = turnBody(script);
  const response = post(bareUrl, earlier.length === 0 ? { message } : { message, messages: earlier });
  return { response, fault: response.status === 200 ? streamFault(bodyOf(response), false) : bodyOf(response) };
}

/** One stream in so many is read event by event: k6 interprets its scripts, and on two cores that takes from the service what it needs for the next turn. */
const readWholeEvery = 16;

/**
 * What is wrong with a stream; null: nothing. Of most only the end is looked at.
 *
 * @param {string} body
 * @param {boolean} hasIds
 */
function streamFault(body, hasIds) {
  if (exec.vu.iterationInInstance % readWholeEvery === 0) return faultOf(body, answer, hasIds);
  const isWhole = body.includes(`chunk-${chunks} `) && body.trimEnd().endsWith("data: [DONE]");
  return isWhole && !body.includes('"type":"error"') ? null : "not the whole answer";
}

/** @returns {Outcome} */
function directTurn() {
  const before = earlier.map(({ role, parts }) => ({ role, content: parts.map(({ text }) => text).join("") }));
  const messages = [...before, { role: "user", content: `[[sim: ${script}]]` }];
  const response = post(`${modelUrl}/chat/completions`, { model: "simulated/model", stream: true, messages });
  const whole = response.status === 200 && bodyOf(response).includes(`chunk-${chunks} `);
  return { response, fault: whole ? null : "not the whole answer" };
}

/**
 * A request to anything but the service.
 *
 * @param {string} url
 * @param {object} body
 */
function post(url, body) {
  return http.post(url, JSON.stringify(body), {
    headers: { "Content-Type": "application/json" },
    responseType: "text",
    timeout: responseTimeout,
    tags: { name: mode },
  });
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
