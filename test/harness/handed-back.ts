import type { Harness, TestTenant } from "./harness.ts";
import { eventually } from "./harness.ts";
import { type LiveEvent, open, script, sessionPath, textOf } from "./turns.ts";

const doneStep = 'text="First." tool=write_todos args={"todos":[]}';

/** A turn that waits in the queue after a completed step. */
export interface HandedBackTurn {
  readonly sessionId: string;
  readonly turnId: string;
  readonly message: ReturnType<typeof script>;
  /** What its reader has seen, the beginning of the second step too. */
  readonly seen: readonly LiveEvent[];
  /** What its reader gets from here on. */
  rest(): Promise<LiveEvent[]>;
}

/**
 * Plays a turn of an agent with `write_todos` into its second step, and drains the worker
 * then. The harness has no other worker; without a session it makes one.
 */
export async function handedBackTurn(
  h: Harness,
  t: TestTenant,
  agentId: string,
  sessionId: string | null = null,
): Promise<HandedBackTurn> {
  const worker = await h.startWorkers();
  const message = script(`${doneStep} ; text="one two" hangAfterChunks=1`);
  const live = await open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message } });
  const seen: LiveEvent[] = [];
  const text = () => textOf(seen.flatMap(({ data }) => (data === "[DONE]" ? [] : [data])));
  try {
    while (text() !== "First.one ") {
      const event = await live.next();
      if (event === null) throw new Error(`The turn ended before its second step: ${JSON.stringify(seen.at(-2))}`);
      seen.push(event);
    }
  } finally {
    await worker.drain(0);
  }
  const { turnId } = live;
  await eventually(
    async () => (await h.sql`select 1 from turns where id = ${turnId} and status = 'queued'`).length > 0,
  );
  return { sessionId: sessionId ?? live.sessionId, turnId, message, seen, rest: () => live.rest() };
}
