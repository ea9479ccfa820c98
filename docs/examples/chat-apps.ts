/**
 * Stands in for Slack and Telegram, to try chat connections without either. It
 * answers what Parley asks them, takes any token, and prints what the bot posts. It listens
 * on port 3400, or on the one that its first word names, of which 0 is a free one, and
 * prints the variables that Parley is to be started with.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

let posted = 0;

function slack(method: string, fields: Record<string, string>): object {
  if (method === "auth.test") return { ok: true, team_id: "T1", user_id: "U1", bot_id: "B1" };
  if (method === "bots.info") return { ok: true, bot: { id: "B1", app_id: "A1", user_id: "U1" } };
  if (method === "conversations.info") return { ok: true, channel: { id: fields.channel, is_member: true } };
  process.stdout.write(`Slack, ${method} in ${fields.channel}: ${fields.text}\n`);
  posted += 1;
  return { ok: true, channel: fields.channel, ts: `${Math.floor(Date.now() / 1000)}.${posted}` };
}

function telegram(method: string, body: string): object {
  const fields = body === "" ? {} : JSON.parse(body);
  if (method === "getMe") return { id: 1, is_bot: true, first_name: "Parley", username: "parley_bot" };
  if (method === "setWebhook") process.stdout.write(`Telegram, webhook ${fields.url} secret ${fields.secret_token}\n`);
  if (method === "getWebhookInfo") return { url: "", has_custom_certificate: false, pending_update_count: 0 };
  if (!/^(sendMessage|editMessageText)$/.test(method)) return {};
  const buttons = fields.reply_markup?.inline_keyboard?.flat() ?? [];
  process.stdout.write(`Telegram, ${method} in ${fields.chat_id}: ${fields.text}\n`);
  for (const { text, callback_data } of buttons) process.stdout.write(`  [${text}] ${callback_data}\n`);
  posted += 1;
  return { message_id: posted, date: 1, chat: { id: fields.chat_id, type: "private" } };
}

const server = createServer(async (request, response) => {
  const body = await text(request);
  const [, ofTelegram] = /^\/bot[^/]+\/(\w+)$/.exec(request.url ?? "") ?? [];
  const answer =
    ofTelegram === undefined
      ? slack((request.url ?? "").slice("/api/".length), Object.fromEntries(new URLSearchParams(body)))
      : { ok: true, result: telegram(ofTelegram, body) };
  response.setHeader("Content-Type", "application/json").end(JSON.stringify(answer));
});

server.listen(Number(process.argv[2] ?? 3400), "127.0.0.1", () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.stdout.write(`Slack and Telegram listen: CHAT_A_API_URL=${url}/api/ CHAT_B_API_URL=${url}\n`);
});
