import { useCallback, useEffect, useRef, useState } from "react";
import { Talk, type TalkWith } from "./talk.ts";

/** The conversation of one column, null without an agent; a new one when what it is with changes, or after `renew`. */
export function useTalk(
  wanted: TalkWith | null,
  onSession: (sessionId: string) => void,
): { readonly talk: Talk | null; renew(): void } {
  const held = useRef<Talk | null>(null);
  const renewed = useRef(false);
  const [, render] = useState(0);
  const latest = useRef(onSession);
  latest.current = onSession;
  if (wanted === null) held.current = null;
  else if (renewed.current || !held.current?.isWith(wanted)) {
    const talk: Talk = new Talk(wanted, (sessionId) => held.current === talk && latest.current(sessionId));
    held.current = talk;
  }
  renewed.current = false;
  const talk = held.current;
  // A reader who leaves the page, or this conversation, reads no further.
  useEffect(() => () => talk?.leave(), [talk]);
  useEffect(
    () => () => {
      held.current = null;
    },
    [],
  );
  const renew = useCallback(() => {
    renewed.current = true;
    render((count) => count + 1);
  }, []);
  return { talk, renew };
}
