import type { Entry, History } from "./record.ts";
import type { Remains, TurnRecord } from "./rows.ts";

/** A turn that was accepted whether or not its session was busy, and when. */
interface InLine {
  readonly turn: TurnRecord;
  readonly interrupts: boolean;
  /** The client asked for it then. */
  readonly askedAt: number;
  /** By then it was accepted. */
  readonly acceptedAt: number;
}

/**
 * The turns of a session begin in the order in which they were accepted; one that interrupts
 * begins before all that wait, and what it interrupts does not succeed afterwards.
 */
export function checkLine({ entries }: History, { turns }: Remains): string[] {
  const known = new Map(turns.map((turn) => [turn.id, turn]));
  const asked = entries.filter(
    ({ kind, turnId, sessionId }) => ["turn", "regenerate"].includes(kind) && turnId !== null && sessionId !== null,
  );
  const bySession = Map.groupBy(Map.groupBy(asked, ({ turnId }) => turnId).values(), ([first]) => first?.sessionId);
  return [...bySession].flatMap(([sessionId, all]) => {
    const line = all.flatMap((sent) => inLine(sent, known));
    const ran = turns.filter((turn) => turn.sessionId === sessionId);
    return line.flatMap((later) => [
      ...line.flatMap((earlier) => wrongOrder(earlier, later)),
      ...(later.interrupts ? notInterrupted(ran, later) : []),
    ]);
  });
}

function inLine(sent: readonly Entry[], known: ReadonlyMap<string, TurnRecord>): InLine[] {
  const [first] = sent;
  const turn = known.get(first?.turnId ?? "");
  if (turn === undefined || first?.onBusy === undefined || first.onBusy === "reject") return [];
  return [
    {
      turn,
      interrupts: first.onBusy === "interrupt",
      askedAt: Math.min(...sent.map(({ startedAt }) => startedAt)),
      acceptedAt: Math.min(...sent.map(({ respondedAt }) => respondedAt ?? Number.POSITIVE_INFINITY)),
    },
  ];
}

/** Of two turns of which one was accepted before the other was asked for, whether they began as they must. */
function wrongOrder(earlier: InLine, later: InLine): string[] {
  const [a, b] = [earlier.turn.claimedAt, later.turn.claimedAt];
  if (earlier.acceptedAt >= later.askedAt || a === null || b === null) return [];
  const said = `${earlier.turn.sessionId}: ${later.turn.id} was asked for after ${earlier.turn.id}`;
  if (!later.interrupts) return a <= b ? [] : [`${said}, and began before it`];
  return Number(a) <= later.acceptedAt || b <= a ? [] : [`${said}, interrupts, and began after it`];
}

function notInterrupted(ran: readonly TurnRecord[], { turn, askedAt, acceptedAt }: InLine): string[] {
  return ran
    .filter(
      ({ id, status, claimedAt, finishedAt }) =>
        id !== turn.id &&
        status === "succeeded" &&
        claimedAt !== null &&
        Number(claimedAt) < askedAt &&
        Number(finishedAt) > acceptedAt,
    )
    .map(({ id }) => `${id} was interrupted by ${turn.id} and has succeeded`);
}
