// @ts-check
/**
 * A burst of webhooks: CLIENTS × PER_CLIENT messages, half as Slack signs them,
 * half as Telegram sends them, each in a conversation of its own. All are
 * responded to with 200 within the three seconds that Slack waits, or with 429 above 50 a
 * second and connection, after which they are repeated as the platforms do. Every one of
 * them is answered in its chat, once. Needs the stand: it plays the two platforms.
 */
import { sleep } from "k6";
import crypto from "k6/crypto";
import http from "k6/http";
import { Counter, Rate, Trend } from "k6/metrics";
import { bodyOf, responseTimeout, settings, summaryTrendStats, tell, wholeNumber } from "./client.js";
import { count, ms, rate, report, share } from "./report.js";

/** What the stand says of its two connections: `{ slack: { url, bot }, telegram: { url, secret } }`. */
const chat = JSON.parse(__ENV.CHAT ?? "null");
if (chat === null || settings.standUrl === "")
  throw new Error("This script runs on the stand only: bun loadtest/run.ts webhooks");

const perClient = wholeNumber("PER_CLIENT", 10);
const total = settings.clients * perClient;
/** The chats have been answered by then, or something is lost. */
const answeredSecondsMax = wholeNumber("ANSWERED_SECONDS_MAX", 120);

const webhooks = new Counter("webhooks");
const webhookFailed = new Rate("webhook_failed");
const webhookMs = new Trend("webhook_ms", true);
const answered = new Counter("chats_answered");
const lost = new Counter("chats_lost");
const twice = new Counter("chats_answered_twice");
const answeredMs = new Trend("all_answered_ms", true);

/** @type {import("k6/options").Options} */
export const options = {
  scenarios: {
    burst: {
      executor: "per-vu-iterations",
      vus: settings.clients,
      iterations: perClient,
      maxDuration: "120s",
      gracefulStop: responseTimeout,
    },
  },
  thresholds: {
    webhook_failed: ["rate<=0"],
    webhooks: [`count==${total}`],
    webhook_ms: ["p(95)<3000"],
    chats_answered: [`count==${total}`],
    chats_lost: ["count==0"],
    chats_answered_twice: ["count==0"],
  },
  teardownTimeout: `${answeredSecondsMax + 30}s`,
  summaryTrendStats,
};

/** @returns {{ startedAt: number }} */
export function setup() {
  return { startedAt: Date.now() };
}

export default function burst() {
  const number = (__VU - 1) * perClient + __ITER + 1;
  const send = () => (number % 2 === 0 ? slackSends(number) : telegramSends(number));
  let response = send();
  while (response.status === 429) {
    sleep(Number(response.headers["Retry-After"] ?? 1));
    response = send();
  }
  webhookFailed.add(response.status !== 200);
  if (response.status !== 200) return tell(`webhook: ${response.status} ${bodyOf(response)}`);
  webhooks.add(1);
  webhookMs.add(response.timings.duration);
}

/** What the model is to answer: a text that the platform finds again. */
const script = (/** @type {number} */ number) => `[[sim: text="answer-${number}"]]`;

/** @param {number} number */
function slackSends(number) {
  const { url, bot } = chat.slack;
  const ts = `${Math.floor(Date.now() / 1000)}.${String(number).padStart(6, "0")}`;
  const body = JSON.stringify({
    type: "event_callback",
    team_id: bot.teamId,
    api_app_id: bot.appId,
    event_id: `Ev${Date.now()}${number}`,
    authorizations: [{ team_id: bot.teamId, user_id: bot.userId, is_bot: true }],
    event: { type: "app_mention", user: "UPERSON", channel: "C1", ts, text: `<@${bot.userId}> ${script(number)}` },
  });
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = crypto.hmac("sha256", bot.signingSecret, `v0:${timestamp}:${body}`, "hex");
  return http.post(`${settings.baseUrl}${url}`, body, {
    headers: {
      "Content-Type": "application/json",
      "X-Slack-Request-Timestamp": timestamp,
      "X-Slack-Signature": `v0=${signature}`,
    },
    timeout: responseTimeout,
    tags: { name: "slack" },
  });
}

/** @param {number} number */
function telegramSends(number) {
  const { url, secret } = chat.telegram;
  const person = 1_000_000 + number;
  const message = {
    message_id: number,
    date: 1,
    from: { id: person, is_bot: false },
    chat: { id: person, type: "private" },
    text: script(number),
  };
  return http.post(`${settings.baseUrl}${url}`, JSON.stringify({ update_id: number, message }), {
    headers: { "Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": secret },
    timeout: responseTimeout,
    tags: { name: "telegram" },
  });
}

/** Waits until every chat was answered, or for too long. @param {{ startedAt: number }} begun */
export function teardown({ startedAt }) {
  const deadline = Date.now() + answeredSecondsMax * 1000;
  for (;;) {
    // { "answer-1": 1, … }: how often each answer was posted.
    const posts = /** @type {any} */ (http.get(`${settings.standUrl}/posts`, { responseType: "text" }).json());
    const counts = Array.from({ length: total }, (_, index) => posts[`answer-${index + 1}`] ?? 0);
    const missing = counts.filter((times) => times === 0).length;
    if (missing > 0 && Date.now() < deadline) {
      sleep(0.2);
      continue;
    }
    answered.add(total - missing);
    lost.add(missing);
    twice.add(counts.filter((times) => times > 1).length);
    answeredMs.add(Date.now() - startedAt);
    return;
  }
}

export const handleSummary = report("webhooks", { messages: total }, (metrics) => ({
  "webhooks/s": rate(metrics.webhooks),
  "200, median": ms(metrics.webhook_ms, "med"),
  "p(95)": ms(metrics.webhook_ms, "p(95)"),
  "all answered after": ms(metrics.all_answered_ms, "max"),
  webhooks: count(metrics.webhooks),
  answered: count(metrics.chats_answered),
  lost: count(metrics.chats_lost),
  twice: count(metrics.chats_answered_twice),
  "not 200": share(metrics.webhook_failed),
}));
