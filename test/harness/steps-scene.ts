import { expect } from "bun:test";
import { CountingTool, countTool } from "./counting-tool.ts";
import { type HeldModel, holdModel } from "./held-model.ts";
import { type Client, type Installation, startInstallation, type Turn, textOf } from "./processes.ts";
import { StreamReader } from "./stream-reader.ts";

/** What a call ends with that was under way when its worker was lost. */
export const lostCall = "The worker was lost while this ran; it may have happened.";
/** What becomes of a turn that was lost once. */
export const goneOn = { status: "succeeded", attempt: 2, metered: 1, messages: 2 };

/** A step that calls the counting tool with a text. */
export const countStep = (text: string) => `text="before ${text}. " tool=${countTool} args={"text":"${text}"}`;

/** An installation with one HTTP process, and a client whose agent has a counting tool. */
export interface StepsScene {
  readonly installation: Installation;
  readonly c: Client;
  readonly tool: CountingTool;
  /** What stands before the agent's model. */
  readonly model: HeldModel;
}

/** Plays a scene on an installation with one HTTP process and an agent with the counting tool, whose model may be held (`holdModel`). */
export async function onStepsScene(
  play: (scene: StepsScene) => Promise<void>,
  policy: "full" | "auto" = "full",
  isHeld: (request: string) => boolean = () => false,
): Promise<void> {
  await using installation = await startInstallation();
  await using model = holdModel(installation.model, isHeld);
  await using tool = new CountingTool();
  const c = await installation.client((await installation.serve()).url, model.url);
  await tool.offer(c, policy);
  await play({ installation, c, tool, model });
}

/** Joins as a client does that has seen the events up to a number. */
export async function joinAfter(c: Client, turn: Turn, event: number): Promise<Turn & { after: number }> {
  return { ...(await comeBack(c, turn, `${turn.turnId}:${event}`)), after: event };
}

/** Joins as a client does that has seen the events up to this one. */
export async function comeBack(
  c: Client,
  { turnId, sessionId }: Turn,
  lastEventId = "",
  path = `/v1/agents/${c.agentId}/sessions/${sessionId}/stream`,
): Promise<Turn> {
  const response = await c.request("GET", path, undefined, { "Last-Event-ID": lastEventId });
  return { turnId, sessionId, stream: new StreamReader(response) };
}

/** Waits until all streams have ended. */
export function allClosed(turns: readonly Turn[]): Promise<unknown> {
  return Promise.all(turns.map(({ stream }) => stream.closed));
}

/** All have seen what the first one has, from where they came. */
export function expectSame(turn: Turn, others: readonly (Turn & { readonly after?: number })[]): void {
  for (const { stream, after = -1 } of others) {
    expect(stream.finished).toBe(true);
    expect(stream.ids).toEqual(turn.stream.ids.slice(after + 1));
    expect(stream.chunks).toEqual(turn.stream.chunks.slice(after + 1));
  }
}

/** The errors that calls ended with. */
export function outputErrors({ stream }: Turn): unknown[] {
  return stream.chunks.flatMap((chunk) => (chunk.type === "tool-output-error" ? [chunk.errorText] : []));
}

/** The claim of a turn that runs; undefined when it does not. */
export async function runningAttempt({ sql }: Installation, { turnId }: Turn): Promise<number | undefined> {
  const [row] = await sql<{ attempt: number }[]>`select attempt from turns where id = ${turnId} and status = 'running'`;
  return row?.attempt;
}

/** The session's messages. */
export async function messagesOf(c: Client, { sessionId }: Turn): Promise<unknown[]> {
  const response = await c.request("GET", `/v1/agents/${c.agentId}/sessions/${sessionId}/messages`);
  return ((await response.json()) as { data: unknown[] }).data;
}

/** The stored answer has the texts and calls that the stream had. */
export async function expectStored(c: Client, turn: Turn): Promise<void> {
  const [, answer] = (await messagesOf(c, turn)) as { parts: { type: string; state?: string; text?: string }[] }[];
  const parts = answer?.parts ?? [];
  expect(parts.flatMap(({ type, text = "" }) => (type === "text" ? [text] : [])).join("")).toBe(
    textOf(turn.stream.chunks),
  );
  const starts = turn.stream.types.filter((type) => type === "start-step").length;
  expect(parts.filter(({ type }) => type === "step-start")).toHaveLength(starts);
  expect(turn.stream.types.filter((type) => type === "finish-step")).toHaveLength(starts);
  expect(parts.every(({ state = "done" }) => /^(done|output-available|output-error)$/.test(state))).toBe(true);
}

/** Nothing is left of the turn's checkpoints. */
export async function expectNoCheckpoint({ sql }: Installation, { turnId }: Turn): Promise<void> {
  expect(await sql`select 1 from turn_checkpoints where turn_id = ${turnId}`).toHaveLength(0);
}
