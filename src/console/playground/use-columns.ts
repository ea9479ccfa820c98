import { useState } from "react";
import { usePlaygroundAddress } from "./address.ts";
import type { TalkPhase } from "./phase.ts";
import { readMetadata } from "./session-fields.tsx";
import type { Talk } from "./talk.ts";
import { useTalk } from "./use-talk.ts";

/** One conversation of the playground, and what it is at. */
export interface PlayedColumn {
  readonly talk: Talk;
  readonly phase: TalkPhase;
  /** The address's name of its session. */
  readonly session: "session" | "session2";
  onPhase(phase: TalkPhase): void;
  renew(): void;
}

/** The one or two conversations that the address names; none without an agent. What begins in them has the user and the metadata of the address. */
export function useColumns(): readonly PlayedColumn[] {
  const [{ columns, userId, metadata }, change] = usePlaygroundAddress();
  const first = useTalk(columns[0], (session) => change({ session }));
  const second = useTalk(columns[1], (session2) => change({ session2 }));
  const [firstPhase, setFirstPhase] = useState<TalkPhase>("empty");
  const [secondPhase, setSecondPhase] = useState<TalkPhase>("empty");
  const both = [
    { ...first, phase: firstPhase, onPhase: setFirstPhase, session: "session" },
    { ...second, phase: secondPhase, onPhase: setSecondPhase, session: "session2" },
  ] as const;
  return both.flatMap(({ talk, ...column }) => {
    if (talk === null) return [];
    talk.userId = userId;
    talk.metadata = readMetadata(metadata) ?? {};
    return [{ talk, ...column }];
  });
}
