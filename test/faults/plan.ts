import type { Random } from "./random.ts";

export type OnBusy = "reject" | "enqueue" | "interrupt";

/** What a client does next. Everything in it comes from the seed; what becomes of it does not. */
export interface Plan {
  readonly kind: keyof typeof weights;
  /** Which of the shared sessions. */
  readonly slot: number;
  /** Makes a session, which takes the slot, in place of using the one in it. */
  readonly fresh: boolean;
  readonly stream: boolean;
  readonly script: keyof typeof scripts;
  /** Where in a list (of messages, of approvals) the one lies that is meant, from 0 to 1. */
  readonly where: number;
  readonly approved: boolean;
  /** A turn that is sent again under its Idempotency-Key: at once, or when it failed; or not at all. */
  readonly repeat: "never" | "at once" | "on failure";
  /** How far a follower reads before it goes away; Infinity reads to the end. */
  readonly leaveAfterChunks: number;
  /** Comes back behind the last event that it has seen. */
  readonly resumes: boolean;
  /** Pause before it. */
  readonly pauseMs: number;
  /** What is made takes the slot: a fork. */
  readonly takesSlot: boolean;
  /** What a turn does that finds its session busy. */
  readonly onBusy: OnBusy;
  /** What a cancellation keeps. */
  readonly keep: "nothing" | "partial";
  /** It drops the session's line too. */
  readonly dropsLine: boolean;
}

const weights = {
  turn: 34,
  join: 22,
  regenerate: 9,
  decide: 10,
  cancel: 7,
  read: 8,
  generate: 5,
  delete: 5,
  fork: 5,
  answer: 6,
  "round trip": 5,
};

/** The connection to the server that counts, and its tool as a model calls it. */
export const counterName = "counter";
const countTool = `${counterName}__count`;

/** The tool that the agents' caller runs. */
export const clientTool = {
  name: "pick",
  description: "Lets the caller pick.",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
} as const;

/** What the simulated model is told to do, by name; `mark` is the turn's own. */
export const scripts = {
  quick: (mark: string) => `[[sim: text="answer to ${mark}" chunks=3 delayMs=20]]`,
  long: (mark: string) => `[[sim: text="a long answer to ${mark}, piece by piece" chunks=25 delayMs=60]]`,
  silent: (mark: string) => `[[sim: firstDelayMs=1500 text="late answer to ${mark}" chunks=2]]`,
  thinking: (mark: string) => `[[sim: reasoning="thinking of ${mark}" text="thought of ${mark}" delayMs=40]]`,
  tool: (mark: string) =>
    `[[sim: text="I note" tool=memory_save args={"text":"${mark}"}; text="noted ${mark}" chunks=4 delayMs=50]]`,
  steps: (mark: string) =>
    `[[sim: text="first of ${mark}" chunks=4 delayMs=50 tool=${countTool} args={"text":"${mark}/1"}; text="second of ${mark}" chunks=4 tool=${countTool} args={"text":"${mark}/2"}; text="all of ${mark}" chunks=6]]`,
  client: (mark: string) =>
    `[[sim: text="I ask for ${mark}" chunks=2 delayMs=30 tool=${clientTool.name} args={"text":"${mark}"}; text="so it is ${mark}" chunks=4]]`,
  failing: () => `[[sim: size=300 chunks=6 delayMs=30 failAfterChunks=3 fail=400]]`,
  refused: () => `[[sim: fail=401]]`,
  hanging: () => `[[sim: size=100 chunks=4 delayMs=20 hangAfterChunks=2]]`,
};

const scriptWeights = {
  quick: 26,
  long: 16,
  silent: 10,
  thinking: 8,
  tool: 16,
  steps: 20,
  client: 16,
  failing: 3,
  refused: 2,
  hanging: 5,
};

/** Draws the next plan. It always asks for the same numbers, so that one plan's outcome does not move the next. */
export function drawPlan(random: Random, slots: number): Plan {
  return {
    kind: random.weighted(weights),
    slot: random.between(0, slots - 1),
    fresh: random.chance(0.15),
    stream: random.chance(0.65),
    script: random.weighted(scriptWeights),
    where: random.next(),
    approved: random.chance(0.6),
    repeat: random.pick(["never", "never", "at once", "on failure"] as const),
    leaveAfterChunks: random.chance(0.25) ? random.between(1, 12) : Number.POSITIVE_INFINITY,
    resumes: random.chance(0.5),
    pauseMs: random.between(0, 300),
    takesSlot: random.chance(0.6),
    onBusy: random.pick(["reject", "reject", "enqueue", "enqueue", "interrupt"] as const),
    keep: random.pick(["nothing", "partial"] as const),
    dropsLine: random.chance(0.3),
  };
}
