// @ts-check
/** What every script needs: the settings of a run, requests to the service, and reading its streams. */
import http from "k6/http";

/** The environment of a run: what each variable means and its default. */
export const settings = {
  baseUrl: __ENV.BASE_URL ?? "http://127.0.0.1:8080",
  apiKey: __ENV.API_KEY ?? "",
  /** The agent whose turns are run. Its model understands `[[sim: …]]`, as the simulated model does. */
  agentId: __ENV.AGENT_ID ?? "",
  /** Clients at any moment. */
  clients: wholeNumber("CLIENTS", 10),
  duration: __ENV.DURATION ?? "30s",
  /** Where the stand tells of its processes and chat platforms; empty on an installation of your own. */
  standUrl: __ENV.STAND_URL ?? "",
};

/** The longest a client waits for one response. */
export const responseTimeout = "60s";

/** What the summary shows of each measured time. */
export const summaryTrendStats = ["avg", "min", "med", "p(95)", "p(99)", "max"];

/** The path of the agent's sessions, or of what is below them. */
export function sessions(rest = "", agentId = settings.agentId) {
  return `/v1/agents/${agentId}/sessions${rest}`;
}

/**
 * A request to the service. `name` groups what is measured, lest every id become a series of its own.
 *
 * @param {"GET" | "POST" | "DELETE"} method
 * @param {string} name
 * @param {string} path
 * @param {object} [body]
 */
export function call(method, name, path, body) {
  return http.request(method, `${settings.baseUrl}${path}`, body === undefined ? null : JSON.stringify(body), {
    headers: { Authorization: `Bearer ${settings.apiKey}`, "Content-Type": "application/json" },
    responseType: "text",
    timeout: responseTimeout,
    tags: { name },
  });
}

/**
 * The JSON of a response that has to be this status; an error in all else. For `setup`, where nothing is measured.
 *
 * @param {"GET" | "POST" | "DELETE"} method
 * @param {string} path
 * @param {number} status
 * @param {object} [body]
 * @returns {any}
 */
export function must(method, path, status, body) {
  const response = call(method, "setup", path, body);
  if (response.status !== status) throw new Error(`${method} ${path}: ${response.status} ${response.body}`);
  return response.status === 204 ? null : JSON.parse(bodyOf(response));
}

/**
 * An agent like the one named, with further fields. `teardown` deletes it, and its sessions with it.
 *
 * @param {string} name
 * @param {object} fields
 * @returns {string}
 */
export function makeAgent(name, fields) {
  const { model, providerId } = must("GET", `/v1/agents/${settings.agentId}`, 200);
  const unique = `${name} ${Date.now().toString(36)}`;
  return must("POST", "/v1/agents", 201, { name: unique, model, providerId, ...fields }).id;
}

/**
 * A turn's body: a script for the simulated model; any other model just reads it.
 *
 * @param {string} script
 */
export function turnBody(script, stream = true) {
  const id = `load-${Math.random().toString(36).slice(2)}`;
  return { message: { id, role: "user", parts: [{ type: "text", text: `[[sim: ${script}]]` }] }, stream };
}

/**
 * The text that the model answers for a script of so many chunks.
 *
 * @param {number} chunks
 */
export function answerOf(chunks) {
  return Array.from({ length: chunks }, (_, index) => `chunk-${index + 1} `).join("");
}

/**
 * The body, which k6 leaves null when no response came.
 *
 * @param {{ readonly body: unknown }} response
 */
export function bodyOf(response) {
  return typeof response.body === "string" ? response.body : "";
}

/**
 * The chunks of a stream, with their event ids.
 *
 * @param {string} body
 * @returns {{ id: string, chunk: any }[]}
 */
export function eventsOf(body) {
  return body
    .split("\n\n")
    .filter((block) => block.includes("data: {"))
    .map((block) => {
      const line = (/** @type {string} */ name) =>
        block
          .split("\n")
          .find((text) => text.startsWith(name))
          ?.slice(name.length) ?? "";
      return { id: line("id: "), chunk: JSON.parse(line("data: ")) };
    });
}

/**
 * Why a stream is not the whole sequence once, from `start` to `[DONE]` with this text; null when it is.
 *
 * @param {string} body
 * @param {string} text
 * @param {boolean} [hasIds] whether each event has an id of its own, as the service's have
 */
export function faultOf(body, text, hasIds = true) {
  const events = eventsOf(body);
  const types = events.map(({ chunk }) => chunk.type);
  const seen = events.map(({ chunk }) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
  if (types.includes("error")) return `an error chunk: ${JSON.stringify(events.at(-1)?.chunk)}`;
  if (seen !== text) return `${seen.length} characters of text in the place of ${text.length}`;
  if (types[0] !== "start" || types.filter((type) => type === "start").length !== 1) return "not one start";
  if (types.at(-1) !== "finish" || types.filter((type) => type === "finish").length !== 1) return "not one finish";
  if (hasIds && new Set(events.map(({ id }) => id)).size !== events.length) return "an event id came twice";
  return body.trimEnd().endsWith("data: [DONE]") ? null : "no [DONE] at the end";
}

/** k6's own console, which writes to the screen. */
const { console } = /** @type {{ console: { warn(text: string): void } }} */ (/** @type {unknown} */ (globalThis));

/** Faults that a virtual client has told of. */
let told = 0;

/**
 * Tells what went wrong, a few times for each client: a broken service would fill the screen.
 *
 * @param {string} what
 */
export function tell(what) {
  told += 1;
  if (told <= 2) console.warn(what);
}

/**
 * A setting that is a whole number.
 *
 * @param {string} name
 * @param {number} preset
 */
export function wholeNumber(name, preset) {
  const text = __ENV[name];
  if (text === undefined) return preset;
  if (/^\d+$/.test(text)) return Number(text);
  throw new Error(`${name} takes a whole number, not ${text}.`);
}

/** Refuses a run that does not know whom to call. */
export function requireAgent() {
  if (settings.apiKey === "" || settings.agentId === "")
    throw new Error("API_KEY and AGENT_ID name the agent whose turns are run.");
}
