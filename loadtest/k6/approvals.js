// @ts-check
/**
 * Approvals: each client starts a turn that stops to ask, decides (three in four
 * approve), follows the continuation to its end, and sees that a second decision
 * counts for nothing.
 */
import { Counter, Rate, Trend } from "k6/metrics";
import {
  bodyOf,
  call,
  eventsOf,
  makeAgent,
  must,
  requireAgent,
  responseTimeout,
  sessions,
  settings,
  summaryTrendStats,
  tell,
  turnBody,
} from "./client.js";
import { count, ms, rate, report, share } from "./report.js";

requireAgent();

const approvals = new Counter("approvals");
const approvalFailed = new Rate("approval_failed");
const askMs = new Trend("ask_ms", true);
const decideMs = new Trend("decide_ms", true);
const continueMs = new Trend("continue_ms", true);

/** @type {import("k6/options").Options} */
export const options = {
  scenarios: {
    approvals: {
      executor: "constant-vus",
      vus: settings.clients,
      duration: settings.duration,
      gracefulStop: responseTimeout,
    },
  },
  thresholds: {
    approval_failed: ["rate<=0"],
    approvals: ["count>0"],
    ask_ms: ["p(95)<10000"],
    decide_ms: ["p(95)<5000"],
    continue_ms: ["p(95)<10000"],
  },
  summaryTrendStats,
};

/** What the model says after the decision. */
const lastWords = "Decided.";
const script = `tool=write_todos args={"todos":[{"content":"tea","status":"pending"}]} ; text="${lastWords}"`;

export function setup() {
  return { agentId: makeAgent("approvals", { tools: ["write_todos"], approvalInChat: { default: "manual" } }) };
}

/** @param {{ agentId: string }} known */
export default function approval({ agentId }) {
  const fault = faultOfApproval(agentId);
  approvalFailed.add(fault !== null);
  if (fault === null) approvals.add(1);
  else tell(`approval: ${fault}`);
}

/**
 * What is wrong with one approval from its turn to its end; null when nothing is.
 *
 * @param {string} agentId
 */
function faultOfApproval(agentId) {
  const asked = call("POST", "ask", sessions("", agentId), turnBody(script));
  if (asked.status !== 201) return `ask: ${asked.status} ${bodyOf(asked)}`;
  const request = eventsOf(bodyOf(asked)).find(({ chunk }) => chunk.type === "tool-approval-request");
  if (request === undefined) return "the turn did not ask";
  askMs.add(asked.timings.duration);

  const path = asked.headers.Location ?? "";
  const listed = call("GET", "approvals", `${path}/tool-approvals`);
  if (listed.status !== 200) return `approvals: ${listed.status}`;
  const { approvals: open, continuation } = JSON.parse(bodyOf(listed));
  if (open.length !== 1 || open[0].status !== "pending" || open[0].id !== request.chunk.approvalId)
    return `listed: ${bodyOf(listed)}`;
  if (continuation?.status !== "waiting") return `the continuation is ${continuation?.status}`;

  const approved = Math.random() < 0.75;
  const decision = `${path}/tool-approvals/${open[0].id}`;
  const decided = call("POST", "decide", decision, { approved });
  if (decided.status !== 202) return `decide: ${decided.status} ${bodyOf(decided)}`;
  decideMs.add(decided.timings.duration);

  const joined = call("GET", "continue", `${path}/tool-approval-continuations/${continuation.id}`);
  if (joined.status !== 200) return `continue: ${joined.status} ${bodyOf(joined)}`;
  continueMs.add(joined.timings.duration);
  const events = eventsOf(bodyOf(joined));
  const text = events.map(({ chunk }) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
  const ran = events.some(({ chunk }) => chunk.type === "tool-output-available");
  if (text !== lastWords || ran !== approved || events.at(-1)?.chunk.type !== "finish")
    return `continued: ${bodyOf(joined)}`;

  const again = call("POST", "decide again", decision, { approved: !approved });
  return again.status === 409 ? null : `a second decision: ${again.status}`;
}

/** @param {{ agentId: string }} known */
export function teardown({ agentId }) {
  must("DELETE", `/v1/agents/${agentId}`, 204);
}

export const handleSummary = report("approvals", {}, (metrics) => ({
  "approvals/s": rate(metrics.approvals),
  "ask, median": ms(metrics.ask_ms, "med"),
  "decide, median": ms(metrics.decide_ms, "med"),
  "continue, median": ms(metrics.continue_ms, "med"),
  "continue, p(95)": ms(metrics.continue_ms, "p(95)"),
  approvals: count(metrics.approvals),
  failed: share(metrics.approval_failed),
}));
