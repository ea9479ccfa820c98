// @ts-check
/**
 * Load on the turn: each virtual client starts sessions one after the other and
 * waits for each answer, as fast as the service gives them.
 *
 *     k6 run -e BASE_URL=http://127.0.0.1:8080 -e API_KEY=parley_… -e AGENT_ID=ag_… loadtest/turns.js
 *
 * MODE says what a client calls:
 *   json    the turn endpoint, whole answer (`stream: false`)
 *   stream  the turn endpoint, the AI SDK's UI message stream
 *   direct  the model itself at MODEL_URL, streamed: the baseline, what the load
 *           generator and the model cost without the service between them
 *
 * k6 reads a response whole before a script sees it. So `first_chunk_ms` is the
 * time to the response's first byte (`timings.waiting`): in `direct` that is the
 * model's first event; in `stream` it is the status line, or the first chunk
 * with it when the server sends both together; in `json` the whole turn.
 */
import http from "k6/http";
import { Counter, Rate, Trend } from "k6/metrics";

/** The environment of a run: what each variable means and its default. */
const settings = {
  baseUrl: __ENV.BASE_URL ?? "http://127.0.0.1:8080",
  apiKey: __ENV.API_KEY ?? "",
  agentId: __ENV.AGENT_ID ?? "",
  modelUrl: __ENV.MODEL_URL ?? "http://127.0.0.1:9100/v1",
  mode: __ENV.MODE ?? "json",
  /** Clients that wait for an answer at any moment. */
  clients: wholeNumber("CLIENTS", 10),
  duration: __ENV.DURATION ?? "30s",
  /** Chunks of an answer, and the pause between them. */
  chunks: wholeNumber("CHUNKS", 20),
  chunkDelayMs: wholeNumber("CHUNK_DELAY_MS", 0),
  /** Bounds of the run's verdict: above them k6 exits with an error. */
  turnP95MsMax: wholeNumber("TURN_P95_MS_MAX", 1000),
  failedShareMax: 0.001,
};

const turnMs = new Trend("turn_ms", true);
const firstChunkMs = new Trend("first_chunk_ms", true);
const turnFailed = new Rate("turn_failed");
const turns = new Counter("turns");

/** The longest a client waits for one answer. */
const answerTimeout = "60s";

const modes = { json: jsonTurn, stream: streamTurn, direct: directTurn };
const play = modes[/** @type {keyof typeof modes} */ (settings.mode)];
if (play === undefined) throw new Error(`MODE is json, stream or direct, not ${settings.mode}.`);
if (settings.mode !== "direct" && (settings.apiKey === "" || settings.agentId === ""))
  throw new Error("API_KEY and AGENT_ID name the agent whose turns are run; only MODE=direct needs neither.");

/** @type {import("k6/options").Options} */
export const options = {
  scenarios: {
    turns: {
      executor: "constant-vus",
      vus: settings.clients,
      duration: settings.duration,
      gracefulStop: answerTimeout,
    },
  },
  thresholds: {
    turn_failed: [`rate<=${settings.failedShareMax}`],
    turn_ms: [`p(95)<${settings.turnP95MsMax}`],
    turns: ["count>0"],
  },
  summaryTrendStats: ["avg", "min", "med", "p(95)", "p(99)", "max"],
};

/** The message of every turn: it tells the simulated model what to answer; any other model just reads it. */
const message = `[[sim: chunks=${settings.chunks} delayMs=${settings.chunkDelayMs}]]`;

/** What a whole answer ends with. */
const lastWord = `chunk-${settings.chunks} `;

export default function turn() {
  const { response, complete } = play();
  turnFailed.add(!complete);
  if (!complete) return;
  turns.add(1);
  turnMs.add(response.timings.duration);
  firstChunkMs.add(response.timings.waiting);
}

/** @typedef {{ response: import("k6/http").RefinedResponse<"text">, complete: boolean }} Outcome */

/** @returns {Outcome} */
function jsonTurn() {
  const response = startSession(false);
  return { response, complete: response.status === 201 && bodyOf(response).includes(lastWord) };
}

/** @returns {Outcome} */
function streamTurn() {
  const response = startSession(true);
  const body = bodyOf(response);
  const whole = body.includes(lastWord) && body.includes("[DONE]") && !body.includes('"type":"error"');
  return { response, complete: response.status === 201 && whole };
}

/** @returns {Outcome} */
function directTurn() {
  const body = { model: "simulated/model", stream: true, messages: [{ role: "user", content: message }] };
  const response = post(`${settings.modelUrl}/chat/completions`, body, {});
  return { response, complete: response.status === 200 && bodyOf(response).includes(lastWord) };
}

/**
 * The body, which k6 leaves null when no response came.
 *
 * @param {import("k6/http").RefinedResponse<"text">} response
 */
function bodyOf(response) {
  return response.body ?? "";
}

/** @param {boolean} stream */
function startSession(stream) {
  const id = `load-${__VU}-${__ITER}`;
  return post(
    `${settings.baseUrl}/v1/agents/${settings.agentId}/sessions`,
    { message: { id, role: "user", parts: [{ type: "text", text: message }] }, stream },
    { Authorization: `Bearer ${settings.apiKey}` },
  );
}

/**
 * @param {string} url
 * @param {object} body
 * @param {Record<string, string>} headers
 */
function post(url, body, headers) {
  return http.post(url, JSON.stringify(body), {
    headers: { "Content-Type": "application/json", ...headers },
    responseType: "text",
    timeout: answerTimeout,
    // One name for all, lest every agent id become a metric series of its own.
    tags: { name: settings.mode },
  });
}

/**
 * @param {string} name
 * @param {number} preset
 */
function wholeNumber(name, preset) {
  const text = __ENV[name];
  if (text === undefined) return preset;
  if (/^\d+$/.test(text)) return Number(text);
  throw new Error(`${name} takes a whole number, not ${text}.`);
}
