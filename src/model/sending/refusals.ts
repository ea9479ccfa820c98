import { DownloadError, type ModelMessage, UnsupportedFunctionalityError } from "ai";
import { findBoundsError } from "../../providers/bounds-error.ts";
import { findCallError } from "../describe-error.ts";
import type { SentThoughts } from "./fit-prompt.ts";
import type { UnofferedTool } from "./fit-tools.ts";

/** How a model is asked: with all that fits it, or without what it has refused. */
export interface Way {
  readonly thoughts: SentThoughts;
  readonly files: SentFiles;
  /** The tools that are left out, by name. */
  readonly withoutTools: ReadonlySet<string>;
}

/** Which files a model is sent: all that its vendor is known to take, none that tools returned (`own`), or none at all. */
export type SentFiles = "all" | "own" | "none";

/**
 * What the models of a turn have refused, so that the next step does not ask them for it again; and the tools that
 * were left out.
 */
export class Refusals {
  readonly #ways = new WeakMap<object, Way>();
  readonly #onLeftOut: (tool: UnofferedTool) => void;

  /** `onLeftOut` is told of each tool that a vendor was not offered, more than once where several requests went without it. */
  constructor(onLeftOut: (tool: UnofferedTool) => void) {
    this.#onLeftOut = onLeftOut;
  }

  wayOf(model: object): Way {
    return (
      this.#ways.get(model) ?? { thoughts: wantedThoughts.get(model) ?? "own", files: "all", withoutTools: noTools }
    );
  }

  /** The model took a request in this way. `lasts`: so it will other turns' requests. */
  keep(model: object, way: Way, lasts: boolean): void {
    this.#ways.set(model, way);
    if (lasts) wantedThoughts.set(model, way.thoughts);
  }

  leftOut(tools: Iterable<UnofferedTool>): void {
    for (const tool of tools) this.#onLeftOut(tool);
  }
}

const noTools: ReadonlySet<string> = new Set();
/** What models of Chat Completions do with thoughts does not change: some refuse the field, others want it. */
const wantedThoughts = new WeakMap<object, SentThoughts>();

/** What a vendor said when it refused a request: its status and its words, which are looked at and not shown. */
export interface Refusal {
  readonly status: number;
  readonly words: string;
}

/** Words of a refusal that are looked at. */
const wordsMax = 10_000;

/** Returns what a vendor said when it refused a request as it was; null for any other failure. */
export function refusalOf(error: unknown): Refusal | null {
  // The vendor's client itself refuses files of types that the vendor does not take, before it sends anything.
  if (UnsupportedFunctionalityError.isInstance(error)) return { status: 415, words: error.message.slice(0, wordsMax) };
  const call = findCallError(error);
  if (call?.statusCode === undefined || !refusing.has(call.statusCode)) return null;
  return { status: call.statusCode, words: `${call.message} ${call.responseBody ?? ""}`.slice(0, wordsMax) };
}

/**
 * Returns the same for a file of an earlier message that cannot be fetched any more, such as one whose address has expired: it would
 * fail every later turn. Null for any other failure, files that are too large together among them, and for a file of the newest
 * message, whose sender is told.
 */
export function lostFileOf(error: unknown, messages: readonly ModelMessage[]): Refusal | null {
  if (!DownloadError.isInstance(error) || findBoundsError(error) !== null) return null;
  const asked = messages.findLast(({ role }) => role === "user")?.content ?? [];
  const isNew = JSON.stringify(asked).includes(JSON.stringify(error.url));
  return isNew ? null : { status: 415, words: "file" };
}

/** A model without eyes, a type that it does not know, a prompt that is too large, a field that it does not have. */
const refusing: ReadonlySet<number> = new Set([400, 404, 413, 415, 422]);

/** Returns whether a refusal may be about tools: a router says by 404 that no server of a model takes any. */
export function mayBeOfTools({ status, words }: Refusal): boolean {
  return status === 400 || status === 422 || (status === 404 && /tool|function/i.test(words));
}

/** Returns whether a refusal is about pictures or other files. */
export function isOfFiles({ words }: Refusal): boolean {
  return /image|picture|vision|visual|multi-?modal|modalit|media|audio|video|\bfiles?\b|\bpdf/i.test(words);
}

/** Returns whether a refusal is about thoughts, signatures, or what the vendor keeps of its answers. */
export function isOfThoughts({ status, words }: Refusal): boolean {
  if (status !== 400 && status !== 404 && status !== 422) return false;
  return /reason|think|thought|signature|encrypted|\bitems?\b.*(not found|without|expired|required)/is.test(words);
}

/** Returns what to send of thoughts in place of what was refused. */
export function otherThoughts({ words }: Refusal, refused: SentThoughts): SentThoughts {
  const isMissed =
    /missing|must (be|include|contain)|required|expected/i.test(words) && /reasoning_content/.test(words);
  if (isMissed && refused !== "each") return "each";
  return refused === "none" ? "own" : "none";
}
