/**
 * Stands in for Slack and Telegram, to try chat connections without either. It
 * answers what Parley asks them, takes any token, and prints what the bot posts:
 * CHAT_A_API_URL=http://127.0.0.1:3400/api/ CHAT_B_API_URL=http://127.0.0.1:3400
 */
import { createServer } from "node:http";
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

createServer(async (request, response) => {
  const body = await text(request);
  const [, ofTelegram] = /^\/bot[^/]+\/(\w+)$/.exec(request.url ?? "") ?? [];
  const answer =
    ofTelegram === undefined
      ? slack((request.url ?? "").slice("/api/".length), Object.fromEntries(new URLSearchParams(body)))
      : { ok: true, result: telegram(ofTelegram, body) };
  response.setHeader("Content-Type", "application/json").end(JSON.stringify(answer));
}).listen(3400, "127.0.0.1");
