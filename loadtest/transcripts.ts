/**
 * What a long transcript costs a turn: the time of a whole turn of sessions with so many
 * messages, one after the other, with a model that answers at once. The first turns of each are
 * not counted, so that what a worker caches is there, as it is in a conversation.
 *
 *     bun loadtest/transcripts.ts [--messages 10,2000] [--turns 150]
 */
import { parseArgs } from "node:util";
import postgres from "postgres";
import { newId } from "../src/kernel/ids.ts";
import { median, printLine } from "./figures.ts";
import { type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: { messages: { type: "string", default: "10,2000" }, turns: { type: "string", default: "150" } },
});
const turns = Number(values.turns);
/** Turns before those that count. */
const warmUps = 50;

/** A session and the messages that it has before each turn. */
interface Conversation {
  readonly count: number;
  readonly path: string;
  readonly sessionId: string;
  readonly timesMs: number[];
}

/** Sends a turn. Returns its time in milliseconds, and the path of its session where that is new. */
async function ask({ url, apiKey }: Stand, path: string): Promise<{ ms: number; location: string | null }> {
  const message = {
    id: newId("message"),
    role: "user",
    parts: [{ type: "text", text: "[[sim: chunks=2 delayMs=0]]" }],
  };
  const sentAt = performance.now();
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ message }),
  });
  await response.text();
  if (!response.ok) throw new Error(`A turn was answered ${response.status}.`);
  return { ms: performance.now() - sentAt, location: response.headers.get("location") };
}

/** Makes a session, and writes messages into it. */
async function makeConversation(stand: Stand, sql: postgres.Sql, count: number): Promise<Conversation> {
  const { location } = await ask(stand, `/v1/agents/${stand.agentId}/sessions`);
  if (location === null) throw new Error("The session has no address.");
  const sessionId = location.split("/").at(-1) ?? "";
  await sql`
    insert into messages (session_id, seq, id, role, turn_id, content)
    select ${sessionId}, 100 + n, id, role, 'turn_before',
      json_build_object('id', id, 'role', role, 'parts', json_build_array(json_build_object('type', 'text', 'text', 'Message number ' || n || ' says little.')))
    from generate_series(1, ${Math.max(0, count - 2)}::int) n
    cross join lateral (select 'msg_before_' || n as id, case when n % 2 = 1 then 'user' else 'assistant' end as role) m`;
  await recount(sql, sessionId);
  return { count, path: location, sessionId, timesMs: [] };
}

async function recount(sql: postgres.Sql, sessionId: string): Promise<void> {
  await sql`update sessions set message_count = (select count(*) from messages where session_id = ${sessionId}) where id = ${sessionId}`;
}

/** Takes back what turns added to a short transcript, which would not stay short. */
async function shorten(sql: postgres.Sql, { count, sessionId }: Conversation): Promise<void> {
  if (count > warmUps) return;
  await sql`
    delete from messages where session_id = ${sessionId} and seq not in (
      select seq from messages where session_id = ${sessionId} order by seq limit ${count})`;
  await recount(sql, sessionId);
}

const stand = await startStand({ workers: 1 });
const sql = postgres(stand.databaseUrl, { max: 1, onnotice: () => {} });
try {
  const conversations: Conversation[] = [];
  for (const count of values.messages.split(",").map(Number))
    conversations.push(await makeConversation(stand, sql, count));
  for (let turn = 0; turn < warmUps + turns; turn++) {
    for (const conversation of conversations) {
      await shorten(sql, conversation);
      const { ms } = await ask(stand, conversation.path);
      if (turn >= warmUps) conversation.timesMs.push(ms);
    }
  }
  const [first] = conversations;
  for (const { count, timesMs } of conversations) {
    const ratio = median(timesMs) / median(first?.timesMs ?? []);
    printLine(`${String(count).padStart(7)} messages: ${median(timesMs).toFixed(1)} ms a turn, ${ratio.toFixed(2)}`);
  }
} finally {
  await sql.end();
  await stand[Symbol.asyncDispose]();
}
