import { expect } from "bun:test";
import { eventually } from "./harness.ts";
import { type Client, type Installation, type JsonResponse, processWaitMs, type Turn, textOf } from "./processes.ts";

/** A turn that succeeded, on whichever attempt: one sequence with one start, complete. */
export function expectWhole({ stream }: Turn, text?: string): void {
  expect(stream.finished).toBe(true);
  expectOneSequence({ stream });
  expect(stream.types.at(-1)).toBe("finish");
  if (text !== undefined) expect(textOf(stream.chunks)).toBe(text);
}

/** A turn that was given up: an error chunk, once, at the end. */
export function expectBroken({ stream }: Turn): void {
  expect(stream.finished).toBe(true);
  expectOneSequence({ stream });
  expect(stream.types.at(-1)).toBe("error");
  expect(stream.types.filter((type) => type === "error")).toHaveLength(1);
}

/** One `start`, and event numbers without a gap or a repetition. */
export function expectOneSequence({ stream }: Pick<Turn, "stream">): void {
  expect(stream.types.filter((type) => type === "start")).toHaveLength(1);
  expect(stream.ids.map((id) => Number(id.split(":")[1]))).toEqual(stream.ids.map((_, index) => index));
}

/** The JSON response to a turn whose worker was lost. */
export function expectLost({ status, turnId, body }: JsonResponse): void {
  expect(body.error?.code).toBe("service_unavailable");
  expect(status).toBe(503);
  expect(turnId).toMatch(/^turn_/);
}

/** A new turn of the session at once is 200. */
export async function expectFree(client: Client, sessionId: string): Promise<void> {
  const { status } = await client.json('[[sim: text="free again"]]', sessionId);
  expect(status).toBe(200);
}

/** How many turns wait in each status. */
export async function turnsIn({ sql }: Installation, status: string): Promise<number> {
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from turns where status = ${status}`;
  return row?.n ?? 0;
}

/** Waits until a turn's caller has seen some text. */
export function hasShown({ stream }: Turn): Promise<unknown> {
  return eventually(() => stream.types.includes("text-delta"), processWaitMs);
}

/** Waits until a worker has claimed a turn. */
export function isClaimed({ sql }: Installation, turnId: string): Promise<unknown> {
  return eventually(async () => {
    const [row] = await sql<{ status: string }[]>`select status from turns where id = ${turnId}`;
    return row?.status === "running";
  }, processWaitMs);
}
