import { type RefObject, useEffect, useRef, useState } from "react";
import { toastError } from "../parts/toasts.tsx";
import { usePlaygroundAddress } from "./address.ts";
import { asMessage, type Said } from "./last-said.ts";
import type { Talk } from "./talk.ts";
import type { TriedSettings } from "./try-settings.tsx";

/** A question that waits until the conversation on a draft is there. */
interface WaitingQuestion {
  readonly version: number;
  readonly said: Said;
}

interface DraftAsking {
  /** Where the form of the settings says what is changed. */
  readonly tried: RefObject<TriedSettings | null>;
  /** Asks in a new conversation on the changed settings, and returns whether it does; null: none is changed. */
  askOnDraft(said: Said): Promise<boolean> | null;
}

/** Asks questions on settings that are changed and not saved: of a draft, in a new conversation. */
export function useDraft(talk: Talk | undefined): DraftAsking {
  const [, change] = usePlaygroundAddress();
  const [waiting, setWaiting] = useState<WaitingQuestion | null>(null);
  const tried = useRef<TriedSettings | null>(null);
  useEffect(() => {
    if (waiting === null || talk === undefined || talk.sessionId !== null || talk.version !== waiting.version) return;
    setWaiting(null);
    void talk.chat.sendMessage(asMessage(waiting.said)).catch(toastError);
  }, [waiting, talk]);
  async function ask(settings: TriedSettings, said: Said): Promise<boolean> {
    const version = await settings.makeDraft();
    if (version === null) return false;
    setWaiting({ version, said });
    change({ version: String(version), session: null }, true);
    return true;
  }
  return { tried, askOnDraft: (said) => (tried.current?.isChanged ? ask(tried.current, said) : null) };
}
