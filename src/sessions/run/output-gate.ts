import type { Sql } from "../../kernel/database/client.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { turnPatienceMs } from "../../kernel/limits.ts";
import type { ClaimKey } from "../state/claim-key.ts";
import { markShown } from "../state/turn.ts";

/** Chunks that show nothing: a turn that wrote only these can be run again, and no reader notices. */
const silentChunks = new Set(["start", "start-step", "finish-step", "message-metadata"]);
/** A turn that lasts longer than this after its first shown chunk is noted as shown; a shorter one has ended before it matters. */
const noteAfterMs = 250;

interface GateOptions {
  readonly onOpen?: () => void;
  readonly firstTextAt?: () => Date | null;
  readonly patienceMs?: number;
  /** Whether readers have seen something already, of an earlier claim. */
  readonly isOpen?: boolean;
  /** Whether the turn has completed a step. */
  readonly isPastFirstStep?: boolean;
}

/**
 * Holds back what shows nothing until the first chunk that shows something, so
 * that "the relay's log is empty" means exactly "nobody has seen anything".
 *
 * Some time after that first chunk (`noteAfterMs`) it also notes in Postgres that the
 * turn has shown something, for the case that the worker and Redis are lost together; with
 * it goes when the first text came. Only a turn whose first text came after that note, which
 * one with tools may be, makes another for it.
 */
export class OutputGate {
  readonly #sql: Sql;
  readonly #claim: ClaimKey;
  readonly #patienceMs: number;
  #held: object[] = [];
  #open = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isNoted = false;
  /** Whether the turn has completed a step: then each note for tools says what lies before them. */
  #countsTools: boolean;
  #areToolsNoted = false;
  #isNotingTools = false;
  /** The note under way, which those who ask meanwhile share. */
  #noting: Promise<boolean> | null = null;
  readonly #onOpen: () => void;
  readonly #firstTextAt: () => Date | null;
  #hasText = false;
  #isTextNoted = false;

  /**
   * `onOpen` is called at the first chunk that shows something; `firstTextAt` returns when the
   * first text came; a note waits for Postgres for `patienceMs`.
   */
  constructor(
    sql: Sql,
    claim: ClaimKey,
    {
      onOpen = () => {},
      firstTextAt = () => null,
      patienceMs = turnPatienceMs,
      isOpen = false,
      isPastFirstStep = false,
    }: GateOptions = {},
  ) {
    this.#open = isOpen;
    this.#countsTools = isPastFirstStep;
    this.#sql = sql;
    this.#claim = claim;
    this.#onOpen = onOpen;
    this.#firstTextAt = firstTextAt;
    this.#patienceMs = patienceMs;
  }

  /** Takes the next chunk; returns those that may go out now. */
  pass(chunk: { readonly type: string }): readonly object[] {
    if (!this.#hasText && chunk.type === "text-delta") this.#passText();
    if (this.#open) return [chunk];
    this.#held.push(chunk);
    if (silentChunks.has(chunk.type)) return [];
    this.#open = true;
    this.#onOpen();
    this.#noteSoon();
    return this.takeHeld();
  }

  #passText(): void {
    this.#hasText = true;
    // Before the gate is open, its first note will say it.
    if (this.#open) this.#noteSoon();
  }

  #noteSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.note().catch(() => {});
    }, noteAfterMs);
  }

  /** A step is complete, and the next one begins. */
  nextStep(): void {
    this.#countsTools = true;
    this.#areToolsNoted = false;
  }

  /**
   * Notes now that the turn has shown something, and where tools begin to run, that so many
   * events lie before them (null: none begins); a tool runs only after that, because
   * what it does must not be done twice. Returns false when the claim is gone. Once it is
   * noted, Postgres is asked again only while `isSurelyOurs` is false: then another worker
   * may have taken the turn. Throws when Postgres is away for longer; the next
   * call asks again.
   */
  async note(isSurelyOurs = true, eventsBefore: number | null = null): Promise<boolean> {
    this.close();
    const toolEvents = this.#countsTools ? eventsBefore : null;
    const areToolsKnown = toolEvents === null || this.#areToolsNoted;
    if (this.#isNoted && areToolsKnown && isSurelyOurs && this.#isTextNoted === this.#hasText) return true;
    // A note that is under way may not be one for tools.
    if (!areToolsKnown && !this.#isNotingTools) await this.#noting?.catch(() => {});
    this.#noting ??= this.#ask(toolEvents).finally(() => {
      this.#noting = null;
    });
    return this.#noting;
  }

  async #ask(toolEvents: number | null): Promise<boolean> {
    const firstTextAt = this.#firstTextAt();
    this.#isNotingTools = toolEvents !== null;
    const mark = () => markShown(this.#sql, this.#claim, { firstTextAt, toolEvents });
    this.#isNoted = await retryWhileUnavailable(mark, { limitMs: this.#patienceMs, retryIf: isUnavailable });
    this.#isTextNoted = firstTextAt !== null;
    this.#areToolsNoted ||= toolEvents !== null;
    return this.#isNoted;
  }

  /** Returns what is still held back, and forgets it: for the end of a turn that showed nothing. */
  takeHeld(): object[] {
    const held = this.#held;
    this.#held = [];
    return held;
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
