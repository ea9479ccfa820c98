import type { Entry, History, Message } from "./record.ts";
import type { Remains, SessionRecord, TurnRecord } from "./rows.ts";

/** A place of a transcript as it must be. */
export interface Place {
  readonly id: string;
  readonly role: "user" | "assistant";
  /** A user's message as it was sent. */
  readonly sent: Message | null;
  readonly turn: TurnRecord;
}

export type Transcript = readonly Place[];

/** Turns that may have kept something give a transcript several forms; past so many they are not told apart. */
const formsMax = 500;

/** What is known of the transcript that is looked for, so that forms which cannot become it are left out. */
interface Goal {
  /** The ids that it holds. */
  readonly held: ReadonlySet<string>;
  /** When the last regeneration ended that may have cut something out of it; null: none. */
  readonly lastCutAt: number | null;
}

/** What a session's turns must have made of its transcript, from what it began with, in the order in which they ended. */
export class Replay {
  readonly #ops: ReadonlyMap<string, Entry>;
  /** Forks by operation, and those that got a response by the session that they made. */
  readonly #forks: ReadonlyMap<string, Entry>;
  readonly #made: ReadonlyMap<string, Entry>;
  readonly #remains: Remains;

  constructor({ entries }: History, remains: Remains) {
    this.#remains = remains;
    this.#ops = new Map(entries.filter(({ message }) => message !== undefined).map((entry) => [entry.op, entry]));
    const forks = entries.filter(({ kind }) => kind === "fork");
    this.#forks = new Map(forks.map((entry) => [entry.op, entry]));
    this.#made = new Map(forks.flatMap((entry) => (entry.status === 201 ? [[entry.body.id, entry]] : [])));
  }

  /** The session that a fork was made of; null for any other session. */
  sourceOf(sessionId: string): string | null {
    return this.#forkOf(sessionId)?.sessionId ?? null;
  }

  /** The session at the beginning of a chain of forks. */
  rootOf(sessionId: string): string {
    const source = this.sourceOf(sessionId);
    return source === null ? sessionId : this.rootOf(source);
  }

  /** The transcripts that the session may have now: of a fork, one for each that its source had at some moment. */
  ends(sessionId: string): Transcript[] {
    const goal = this.#goalOf(sessionId);
    return this.#turnsOf(sessionId).reduce<Transcript[]>(
      (forms, turn) => distinct(forms.flatMap((messages) => this.#after(messages, turn, goal))),
      this.#beginnings(sessionId, goal),
    );
  }

  #goalOf(sessionId: string): Goal {
    const held = new Set(this.#remains.transcripts.get(sessionId)?.map(({ id }) => id));
    const chain = new Set([sessionId]);
    for (let source = this.sourceOf(sessionId); source !== null; source = this.sourceOf(source)) chain.add(source);
    const cuts = this.#remains.turns.filter(
      ({ sessionId: home, trigger }) => trigger === "regenerate-message" && chain.has(home ?? ""),
    );
    const ends = cuts.map(({ finishedAt }) => Number(finishedAt));
    return { held, lastCutAt: ends.length === 0 ? null : Math.max(...ends) };
  }

  /** Every transcript that the session may have had at some moment, and that may have become what is looked for. */
  #moments(sessionId: string, goal: Goal): Transcript[] {
    let forms = this.#beginnings(sessionId, goal);
    const moments = [...forms];
    for (const turn of this.#turnsOf(sessionId)) {
      // While it waited, its messages were there, whatever became of it.
      if (turn.continuationId !== null && turn.trigger === "submit-message")
        moments.push(...forms.map((messages) => this.#with(messages, turn)));
      forms = distinct(forms.flatMap((messages) => this.#after(messages, turn, goal)));
      moments.push(...forms);
    }
    return distinct(moments);
  }

  #beginnings(sessionId: string, goal: Goal): Transcript[] {
    const fork = this.#forkOf(sessionId);
    if (fork === undefined) return [[]];
    const through = fork.cutAt ?? null;
    const whole = this.#moments(fork.sessionId ?? "", goal);
    if (through === null) return whole;
    return distinct(
      whole.flatMap((messages) => {
        const last = messages.findLastIndex(({ id }) => id === through);
        return last < 0 ? [] : [messages.slice(0, last + 1)];
      }),
    );
  }

  #forkOf(sessionId: string): Entry | undefined {
    const { op } = this.#sessionOf(sessionId) ?? { op: null };
    // A session that is being erased has lost its metadata.
    return (op === null ? undefined : this.#forks.get(op)) ?? this.#made.get(sessionId);
  }

  #sessionOf(sessionId: string): SessionRecord | undefined {
    return this.#remains.sessions.find(({ id }) => id === sessionId);
  }

  #turnsOf(id: string): TurnRecord[] {
    return this.#remains.turns.filter(({ sessionId }) => sessionId === id);
  }

  #after(messages: Transcript, turn: TurnRecord, { held, lastCutAt }: Goal): Transcript[] {
    const forms = this.#formsAfter(messages, turn);
    const { assistantMessageId } = turn;
    const isCut = lastCutAt !== null && lastCutAt > Number(turn.finishedAt);
    // An answer that is held was kept; one that is not was not, unless a regeneration may have cut it away.
    if (forms.length === 1 || (isCut && !held.has(assistantMessageId))) return forms;
    const has = (form: Transcript) => form.some(({ id }) => id === assistantMessageId);
    return forms.filter((form) => has(form) === held.has(assistantMessageId));
  }

  #formsAfter(messages: Transcript, turn: TurnRecord): Transcript[] {
    const regenerates = turn.trigger === "regenerate-message";
    // With the question, and the answer where it had said something; a regeneration that said nothing changes nothing.
    if (turn.status === "canceled" && turn.cancelKeep === "partial") {
      const whole = this.#with(messages, turn);
      return regenerates ? [whole, messages] : [whole, whole.slice(0, -1)];
    }
    // What a turn said in its completed steps may stay when it fails afterwards.
    if (turn.status === "failed" && turn.stepsDone > 0 && turn.continuationId === null)
      return [messages, this.#with(messages, turn)];
    // What was said before a question stays when its continuation fails; a regeneration's is kept aside until its end.
    const stays =
      turn.status === "succeeded" || (turn.status === "failed" && turn.continuationId !== null && !regenerates);
    return [stays ? this.#with(messages, turn) : messages];
  }

  #with(messages: Transcript, turn: TurnRecord): Transcript {
    const asked = turn.op === null ? undefined : this.#ops.get(turn.op);
    if (asked === undefined) return messages;
    const regenerates = turn.trigger === "regenerate-message";
    const before = regenerates
      ? cut(messages, asked.cutAt ?? null)
      : [...messages, { id: asked.message?.id ?? "", role: "user" as const, sent: asked.message ?? null, turn }];
    return [...before, { id: turn.assistantMessageId, role: "assistant", sent: null, turn }];
  }
}

function distinct(forms: readonly Transcript[]): Transcript[] {
  const byIds = new Map(forms.map((transcript) => [transcript.map(({ id }) => id).join(" "), transcript]));
  return [...byIds.values()].slice(0, formsMax);
}

/** Before an assistant's message, behind a user's; without a name, that of the last message: a fork may end with a question. */
function cut(messages: Transcript, at: string | null): Transcript {
  const place = at === null ? messages.length - 1 : messages.findLastIndex(({ id }) => id === at);
  return messages.slice(0, messages[place]?.role === "user" ? place + 1 : place);
}
