// @ts-check
/** What clients do in more than one script: read, run a long turn, join one. Each step measures itself. */
import { Counter, Rate, Trend } from "k6/metrics";
import { answerOf, bodyOf, call, faultOf, must, responseTimeout, sessions, tell, turnBody } from "./client.js";

const readMs = new Trend("read_ms", true);
const reads = new Counter("reads");
const readFailed = new Rate("read_failed");

const joinMs = new Trend("join_first_byte_ms", true);
const joins = new Counter("joins");
/** Joins that found no turn running: between two turns of the session. */
const joinsIdle = new Counter("joins_idle");
const joinFailed = new Rate("join_failed");

const longTurnsRun = new Counter("long_turns");
const longTurnFailed = new Rate("long_turn_failed");

/** Kinds of reads; each has a bound of its own, and so a line of its own in the summary. */
const readKinds = ["agents", "agent", "versions", "sessions", "latest", "messages", "usage"];

/** The bounds on reads: generous, for machines that do other things too. */
export const readBounds = {
  read_failed: ["rate<=0"],
  reads: ["count>0"],
  ...Object.fromEntries(readKinds.map((kind) => [`read_ms{kind:${kind}}`, ["p(95)<2000"]])),
};

/** The bounds on joins and the turns they join. */
export const joinBounds = {
  join_failed: ["rate<=0"],
  joins: ["count>0"],
  long_turn_failed: ["rate<=0"],
  long_turns: ["count>0"],
  join_first_byte_ms: ["p(95)<5000"],
};

/**
 * Sessions with a first short turn each; every fifth belongs to an end user.
 *
 * @param {string} agentId
 * @param {number} count
 * @returns {string[]}
 */
export function makeSessions(agentId, count) {
  for (let n = 0; n < count; n++) {
    const body = { ...turnBody("chunks=3 delayMs=0", false), userId: n % 5 === 0 ? "reader" : "" };
    must("POST", sessions("", agentId), 201, body);
  }
  const page = must("GET", `${sessions("", agentId)}?limit=200`, 200);
  return page.data.map((/** @type {{ id: string }} */ session) => session.id);
}

/** @template T @param {readonly T[]} all @returns {T} */
function oneOf(all) {
  return /** @type {T} */ (all[Math.floor(Math.random() * all.length)]);
}

/**
 * One read of a random kind, at a random page size, and for lists the page behind the first too.
 *
 * @param {{ agentId: string, sessionIds: string[] }} known
 */
export function readSomething({ agentId, sessionIds }) {
  const limit = oneOf([1, 10, 50, 200]);
  const user = oneOf(["", "&userId=reader", "&userId="]);
  const kind = oneOf(readKinds);
  switch (kind) {
    case "agents":
      return void read(kind, "/v1/agents", (body) => body.agents.length > 0);
    case "agent":
      return void read(kind, `/v1/agents/${agentId}`, (body) => body.id === agentId);
    case "versions":
      return void readPages(kind, `/v1/agents/${agentId}/versions?limit=${limit}`, limit);
    case "sessions":
      return void readPages(kind, `${sessions("", agentId)}?limit=${limit}${user}`, limit);
    case "latest":
      return void readPages(
        kind,
        `/v1/sessions/latest?limit=${limit}${user}&byAgent=${oneOf(["true", "false"])}`,
        limit,
      );
    case "messages":
      return void readPages(kind, `${sessions(`/${oneOf(sessionIds)}/messages`, agentId)}?limit=${limit}`, limit);
    default: {
      const group = oneOf(["day", "agent", "model", "session", "user"]);
      return void read(kind, `/v1/usage?groupBy=${group}&limit=${limit}`, (body) => Array.isArray(body.buckets));
    }
  }
}

/**
 * A page, and the one its cursor leads to, which must repeat nothing.
 *
 * @param {string} kind @param {string} path @param {number} limit
 */
function readPages(kind, path, limit) {
  const fits = (/** @type {any} */ body) => Array.isArray(body.data) && body.data.length <= limit;
  const first = read(kind, path, fits);
  if (first?.nextCursor == null) return;
  const keyOf = (/** @type {any} */ row) => row.id ?? row.version;
  const seen = new Set(first.data.map(keyOf));
  // Lists are ordered by last change: while turns run, a row may move to the first page, but never to a later one.
  read(kind, `${path}&cursor=${encodeURIComponent(first.nextCursor)}`, (body) => {
    return fits(body) && body.data.every((/** @type {any} */ row) => !seen.has(keyOf(row)));
  });
}

/**
 * @param {string} kind @param {string} path @param {(body: any) => boolean} holds
 * @returns {any}
 */
function read(kind, path, holds) {
  const response = call("GET", kind, path);
  const body = response.status === 200 ? JSON.parse(bodyOf(response)) : null;
  const good = body !== null && holds(body);
  readFailed.add(!good);
  if (!good) tell(`GET ${path}: ${response.status} ${bodyOf(response).slice(0, 200)}`);
  else {
    reads.add(1);
    readMs.add(response.timings.duration, { kind });
  }
  return good ? body : null;
}

/**
 * Scenarios that run long turns without pause: one for each session, because a
 * virtual client's number does not tell which session is its own. SESSION in its
 * environment does.
 *
 * @param {string} exec @param {number} sessionCount @param {string} duration
 * @returns {Record<string, import("k6/options").Scenario>}
 */
export function longTurns(exec, sessionCount, duration) {
  return Object.fromEntries(
    Array.from({ length: sessionCount }, (_, index) => [
      `long_turns_${index}`,
      {
        executor: /** @type {const} */ ("constant-vus"),
        exec,
        vus: 1,
        duration,
        gracefulStop: responseTimeout,
        env: { SESSION: String(index) },
      },
    ]),
  );
}

/**
 * A long, slow turn of a session, followed by the client that sent it.
 *
 * @param {string} agentId @param {string} sessionId @param {number} chunks @param {number} delayMs
 */
export function runLongTurn(agentId, sessionId, chunks, delayMs) {
  const body = turnBody(`chunks=${chunks} delayMs=${delayMs}`);
  const response = call("POST", "long turn", sessions(`/${sessionId}`, agentId), body);
  const fault = response.status === 200 ? faultOf(bodyOf(response), answerOf(chunks)) : bodyOf(response);
  longTurnFailed.add(fault !== null);
  if (fault === null) longTurnsRun.add(1);
  else tell(`long turn: ${response.status}, ${fault}`);
}

/**
 * Joins whatever runs in a session, at whatever moment of it: the whole sequence, once.
 *
 * @param {string} agentId @param {string} sessionId @param {number} chunks
 */
export function joinTurn(agentId, sessionId, chunks) {
  const response = call("GET", "join", sessions(`/${sessionId}/stream`, agentId));
  if (response.status === 204) return void joinsIdle.add(1);
  const fault = response.status === 200 ? faultOf(bodyOf(response), answerOf(chunks)) : bodyOf(response);
  joinFailed.add(fault !== null);
  if (fault !== null) return tell(`join: ${response.status}, ${fault}`);
  joins.add(1);
  joinMs.add(response.timings.waiting);
}
