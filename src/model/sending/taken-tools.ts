import type { FitTool } from "./fit-tools.ts";

/** Of a model this many tools are remembered; of a longer list the oldest are forgotten, and count as never taken. */
const takenMax = 1_000;

/**
 * The tools that a model of an account has taken since this process first asked it: as long as its client is kept
 * (`src/providers/client.ts`, which bounds their number). Not in the database: a process that does not know asks
 * once without any, and the next request that is taken tells it.
 */
const taken = new WeakMap<object, Set<string>>();
/** The tools of which it said by name or place that it does not take them, as long and as many. */
const refused = new WeakMap<object, Set<string>>();

/** Notes that a model has taken a request with these tools. */
export function noteTaken(model: object, offered: readonly FitTool[]): void {
  note(taken, model, offered);
}

/** Notes that a model has named these tools when it refused a request, and taken it without them. */
export function noteRefused(model: object, tools: readonly FitTool[]): void {
  note(refused, model, tools);
}

/** Returns those of the tools that a model has refused by their names. */
export function knownRefused(model: object, offered: readonly FitTool[]): FitTool[] {
  const keys = refused.get(model);
  return keys === undefined ? [] : offered.filter(({ key }) => keys.has(key));
}

function note(known: WeakMap<object, Set<string>>, model: object, tools: readonly FitTool[]): void {
  if (tools.length === 0) return;
  const keys = known.get(model) ?? new Set();
  known.set(model, keys);
  for (const { key } of tools) keys.add(key);
  for (const oldest of keys) {
    if (keys.size <= takenMax) break;
    keys.delete(oldest);
  }
}

/** Returns those of the tools that a model has never taken. */
export function neverTaken(model: object, offered: readonly FitTool[]): FitTool[] {
  const keys = taken.get(model);
  return keys === undefined ? [...offered] : offered.filter(({ key }) => !keys.has(key));
}
