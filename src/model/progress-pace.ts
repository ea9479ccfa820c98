import { clearTimeout, setTimeout } from "node:timers";
import { cleanText } from "../messages/text.ts";
import type { ToolProgress } from "../messages/tool-progress.ts";

/** A report of a call's progress, among the parts of an answer. */
export interface ToolProgressPart extends ToolProgress {
  readonly type: "tool-progress";
  readonly toolCallId: string;
}

/** What a server says of a call's progress is shown with at most this many characters. */
const progressMessageLengthMax = 512;
/** The first reports of a call, up to this many, are shown at most five a second. */
const quickReportsMax = 50;
const quickPauseMs = 200;
/** Each report after those is shown at least this long after the one before, so that a call of an hour does not fill the turn's log. */
const slowPauseMs = 2_000;

/** Paces the reports of one call: what comes faster than it is shown is dropped, but for the last. */
export class ProgressPace {
  readonly #toolCallId: string;
  readonly #enqueue: () => void;
  #latest: ToolProgress | null = null;
  #isQueued = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #shown = 0;
  #dueAt = 0;
  #isClosed = false;

  /** `enqueue` is called when there is a report to take. */
  constructor(toolCallId: string, enqueue: (pace: ProgressPace) => void) {
    this.#toolCallId = toolCallId;
    this.#enqueue = () => {
      this.#timer = null;
      this.#isQueued = true;
      enqueue(this);
    };
  }

  /** Takes a report of the call's server. */
  report(progress: ToolProgress): void {
    if (this.#isClosed) return;
    this.#latest = progress;
    if (this.#isQueued || this.#timer !== null) return;
    const waitMs = this.#dueAt - Date.now();
    if (waitMs <= 0) this.#enqueue();
    else this.#timer = setTimeout(this.#enqueue, waitMs);
  }

  /** Returns the newest report, to be shown now. */
  take(): ToolProgressPart | null {
    const latest = this.#latest;
    this.#isQueued = false;
    this.#latest = null;
    if (latest === null) return null;
    this.#shown += 1;
    this.#dueAt = Date.now() + (this.#shown < quickReportsMax ? quickPauseMs : slowPauseMs);
    const { progress, total, message } = latest;
    const text = message === null ? null : cleanText(message.slice(0, progressMessageLengthMax));
    return { type: "tool-progress", toolCallId: this.#toolCallId, progress, total, message: text };
  }

  /** The call has ended: what waits for its time is not shown any more. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
