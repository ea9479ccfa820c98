import { useChat } from "@ai-sdk/react";
import { useQuery } from "@tanstack/react-query";
import type { UIMessage as StoredMessage } from "parley/client";
import { Fragment, useCallback, useEffect } from "react";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { AdviceLine } from "../conversation/advice-line.tsx";
import { MessageView } from "../conversation/message-view.tsx";
import type { CallPart } from "../conversation/parts-of.ts";
import { useUnanswered } from "../conversation/transcript-turns.ts";
import { Unanswered } from "../conversation/unanswered.tsx";
import { Button } from "../parts/button.tsx";
import { LoadFailure, Loading } from "../parts/states.tsx";
import { toastError } from "../parts/toasts.tsx";
import { AnswerHere, DecideHere } from "./call-actions.tsx";
import { LastTurn } from "./last-turn.tsx";
import { phaseOf, type TalkPhase } from "./phase.ts";
import { placeUnanswered } from "./placed.ts";
import { type Talk, talkFailure } from "./talk.ts";

interface TalkViewProps {
  readonly talk: Talk;
  /** Whether what was said is sent, run, waited for, or over. */
  onPhase(phase: TalkPhase): void;
  onFork(sessionId: string): void;
  /** Reads all of it anew. */
  renew(): void;
}

/** One conversation: what was said and, in place, what waits for a person. */
export function TalkView({ talk, onPhase, onFork, renew }: TalkViewProps) {
  const { messages, status, error } = useChat({ chat: talk.chat, ...drawnEvery(talk) });
  const loaded = useQuery({ queryKey: ["talk", talk.id], queryFn: () => talk.load(), staleTime: Infinity, gcTime: 0 });
  const phase = phaseOf(messages as StoredMessage[], status);
  useEffect(() => onPhase(phase), [phase, onPhase]);
  useOthersDecision(talk, phase === "waiting");
  const place = useFollowedEnd();
  const { turns, isRead } = useUnanswered({
    sessionId: talk.sessionId,
    fromMessageId: loaded.data?.hasEarlier ? messages[0]?.id : undefined,
    state: `${phase} ${messages.length}`,
  });
  const failures = placeUnanswered(turns, messages as StoredMessage[], error !== undefined);
  const failuresAt = (id: string | null) =>
    failures
      .filter(({ afterId }) => afterId === id)
      .map(({ turn, isAskedShown }) => (
        <div key={turn.turnId} role={error === undefined ? undefined : "alert"}>
          <Unanswered turn={turn} isAskedShown={isAskedShown} onRunAgain={renew} />
        </div>
      ));
  const lastAsked = messages.findLast(({ role }) => role === "user")?.id;
  // A turn that failed says so at its place; what is left is a request that was refused.
  const isTold = !isRead || failures.some(({ turn }) => turn.message?.id === lastAsked && turn.status === "failed");
  const refused = error === undefined || isTold ? null : talkFailure(error);
  async function fork(throughMessageId: string): Promise<void> {
    const made = await parley.sessions.fork(talk.agentId, talk.sessionId as string, { throughMessageId });
    onFork(made.id);
  }
  const callAction = (part: CallPart) => {
    if (part.state === "approval-requested") return <DecideHere talk={talk} part={part} />;
    return part.state === "input-available" && status === "ready" ? <AnswerHere talk={talk} part={part} /> : null;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard.
    <div className="conversation" role="log" aria-label="Conversation" tabIndex={0} ref={place}>
      {loaded.isPending && talk.sessionId !== null && <Loading />}
      {loaded.error && <LoadFailure error={loaded.error} retry={renew} />}
      {loaded.data?.hasEarlier && (
        <p className="hint">
          <Link href={`/sessions/${talk.agentId}/${talk.sessionId}`}>The session</Link> has the messages before these.
        </p>
      )}
      {messages.length === 0 && loaded.data && <p className="conversation-empty">Say something to the agent.</p>}
      {failuresAt(null)}
      {messages.map((message, at) => (
        <Fragment key={message.id}>
          {!isNothing(message) && (
            <MessageView
              message={message as StoredMessage}
              isStreaming={at === messages.length - 1 && status === "streaming"}
              {...(at === messages.length - 1 && { callAction })}
              actions={
                phase === "over" && (
                  <Button
                    tone="quiet"
                    icon="fork"
                    aria-label="Fork from here"
                    onClick={() => void fork(message.id).catch(toastError)}
                  >
                    Fork
                  </Button>
                )
              }
            />
          )}
          {failuresAt(message.id)}
        </Fragment>
      ))}
      {status === "submitted" && <p className="thinking">Waiting for the model…</p>}
      {refused !== null && (
        <div className="failure" role="alert">
          <p>{refused.text}</p>
          <AdviceLine failure={{ ...refused, agentId: talk.agentId }} />
          <Button onClick={() => void talk.chat.regenerate()}>Try again</Button>
        </div>
      )}
      {/* Of a message that was refused there is no turn. */}
      {phase === "over" && refused === null && talk.sessionId !== null && (
        <LastTurn sessionId={talk.sessionId} count={messages.length} />
      )}
    </div>
  );
}

/** Whether a message is an answer that began and has nothing: its turn failed at once. */
function isNothing({ role, parts }: { readonly role: string; readonly parts: readonly { readonly type: string }[] }) {
  return role === "assistant" && parts.every(({ type }) => type === "step-start");
}

/** The first text of an answer is drawn at once; after it each drawing holds what came in this many milliseconds. */
function drawnEvery({ chat }: Talk): { throttle?: number } {
  const last = chat.messages.at(-1);
  const speaks = last?.role === "assistant" && last.parts.some((part) => part.type === "text" && part.text !== "");
  return speaks ? { throttle: 40 } : {};
}

/** The time between two looks whether a turn that waits was decided elsewhere: at first, at last, and how it grows. */
const lookMs = { first: 2_000, last: 5_000, stepPerLook: 250 };

/** While a turn waits, somebody may decide it elsewhere: then the messages are read anew, and what was typed stays. */
function useOthersDecision(talk: Talk, isWaiting: boolean): void {
  useQuery({
    queryKey: ["talk-waits", talk.id],
    queryFn: ({ signal }) => talk.catchUp(signal),
    enabled: isWaiting && talk.sessionId !== null,
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      data === "moved" ? lookMs.first : Math.min(lookMs.last, lookMs.first + lookMs.stepPerLook * dataUpdateCount),
    staleTime: lookMs.first,
    retry: false,
    gcTime: 0,
  });
}

/** Keeps the end in sight while the reader is at the end. What a turn took comes after its last text. */
function useFollowedEnd() {
  return useCallback((element: HTMLDivElement | null) => {
    if (element === null) return;
    let atEnd = true;
    const onScroll = () => {
      atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 80;
    };
    const follow = () => atEnd && element.scrollTo({ top: element.scrollHeight });
    const changes = new MutationObserver(follow);
    changes.observe(element, { childList: true, subtree: true, characterData: true });
    element.addEventListener("scroll", onScroll);
    follow();
    return () => {
      changes.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, []);
}
