import type { Harness, TestTenant } from "./harness.ts";
import { eventually } from "./harness.ts";
import { userMessage } from "./seed.ts";
import { type LiveStream, messagesOf, open, play, script, sessionPath } from "./turns.ts";

/** A session whose turn hangs until somebody cancels it, and what tests of its line do with it. */
export interface BusySession {
  readonly sessionId: string;
  /** The turn that hangs; it has shown its first text. */
  readonly running: LiveStream;
  /** Sends one more turn to it, and returns its open stream. */
  send(text: string, options?: { readonly onBusy?: string; readonly form?: "a" | "b" }): Promise<LiveStream>;
  cancel(body?: object): ReturnType<TestTenant["call"]>;
  /** The texts of the transcript, oldest first. */
  texts(): Promise<string[]>;
}

/** What the turn that hangs has said; two pieces of three. */
export const saidText = "one two t";

/** Makes a session with one ended turn and one that says a part of its answer and hangs. */
export async function busySession(h: Harness, t: TestTenant, agentId: string): Promise<BusySession> {
  const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
  const path = sessionPath(agentId, sessionId);
  const running = await open(h, t, "POST", path, {
    body: { message: script('text="one two three" chunks=3 hangAfterChunks=2') },
  });
  await running.until("text-delta");
  await running.until("text-delta");
  return {
    sessionId,
    running,
    send: (text, { onBusy = "enqueue", ...options } = {}) =>
      open(h, t, "POST", path, { body: { message: userMessage(text), onBusy }, ...options }),
    cancel: (body) => t.call("POST", `${path}/cancel`, body === undefined ? {} : { body }),
    texts: async () => (await messagesOf(t, agentId, sessionId)).map(textOfMessage),
  };
}

/** The texts of a message put together. */
export function textOfMessage(message: { readonly parts: readonly { readonly text?: string }[] }): string {
  return message.parts.map(({ text = "" }) => text).join("");
}

/** Waits until as many turns wait in a session's line, by its count and by its rows. */
export async function lineIs(h: Pick<Harness, "sql">, sessionId: string, length: number): Promise<void> {
  await eventually(async () => {
    const [row] = await h.sql<{ line: number; rows: number }[]>`
      select line, (select count(*)::int from turns where session_id = s.id and status = 'enqueued') as rows
      from sessions s where id = ${sessionId}`;
    return row?.line === length && row.rows === length;
  });
}
