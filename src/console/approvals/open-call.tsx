import { useQuery } from "@tanstack/react-query";
import { ParleyError, type UIMessage } from "parley/client";
import { useState } from "react";
import { Link } from "wouter";
import type { WaitingCall } from "../../console-shapes/words.ts";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { readConsole } from "../api/fetch.ts";
import { errorText, queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { CallInput } from "../conversation/call-view.tsx";
import { MessageParts } from "../conversation/message-view.tsx";
import { asResult, isCall } from "../conversation/parts-of.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { toast } from "../parts/toasts.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { When } from "../parts/when.tsx";
import { usePresentText } from "./present-text.ts";

interface OpenCallProps {
  readonly call: WaitingCall;
  /** What the user asked; null or empty where nothing can be shown. */
  readonly question?: string | null | undefined;
  /** What the agent said last before it asked; null where it said nothing. */
  readonly said?: string | null | undefined;
}

/** One call that waits: what it would do, and what a person says to it. */
export function OpenCall({ call, question, said }: OpenCallProps) {
  const { kind, tool, agentId, agentName, sessionId, userId, createdAt, inputIsLeftOut } = call;
  const mayAct = useMay(kind === "approval" ? "approver" : "runner");
  const mayTalk = useMay("runner");
  const name = kind === "approval" ? `May ${agentName} run ${tool}?` : `${agentName} asks for the result of ${tool}`;
  return (
    // The list's keys lead here, and a and d act on the call that has the focus.
    <li tabIndex={-1} aria-label={name}>
      <header>
        <Badge tone="warn">{kind === "approval" ? "an approval" : "a result"}</Badge>
        <code>{tool}</code>
        <Link href={`/agents/${agentId}`}>{agentName}</Link>
        <Link
          href={mayTalk ? `/playground?agent=${agentId}&session=${sessionId}` : `/sessions/${agentId}/${sessionId}`}
        >
          Conversation
        </Link>
        {userId !== "" && (
          <span className="faint">
            for <UserLink userId={userId} />
          </span>
        )}
        <span className="faint">
          <When at={createdAt} />
        </span>
      </header>
      {question && (
        <p className="asked" dir="auto">
          {question}
        </p>
      )}
      {said && (
        <p className="said-before" dir="auto">
          {said}
        </p>
      )}
      <SaidBefore turnId={call.turnId} toolCallId={call.toolCallId} />
      {inputIsLeftOut ? (
        <p className="hint">Its input is too long for this list. The conversation has it.</p>
      ) : (
        <WaitingInput call={call} />
      )}
      {mayAct && (kind === "approval" ? <Decide call={call} /> : <Answer call={call} />)}
    </li>
  );
}

/** What the agent said and did before it asked, read when it is unfolded. */
function SaidBefore({ turnId, toolCallId }: Pick<WaitingCall, "turnId" | "toolCallId">) {
  const [open, setOpen] = useState(false);
  const words = useQuery({
    queryKey: ["turn-words", turnId, "waiting"],
    queryFn: ({ signal }) =>
      readConsole<{ answer: UIMessage | null }>(`/console/api/turn-words?turnId=${turnId}`, { signal }),
    enabled: open,
  });
  const parts = words.data?.answer?.parts ?? [];
  const until = parts.findIndex((part) => isCall(part) && part.toolCallId === toolCallId);
  const before = (until < 0 ? parts : parts.slice(0, until)).filter(({ type }) => type !== "step-start");
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>All it said and did before</summary>
      {words.data !== undefined && before.length === 0 && <p className="hint">Nothing: it asked at once.</p>}
      <MessageParts parts={before} by="assistant" unfolded={false} />
    </details>
  );
}

/** What a call would do; of a file that is written, what differs from the one that is there. */
function WaitingInput({ call: { agentId, tool, input } }: Pick<OpenCallProps, "call">) {
  const { data } = useAgents();
  const agent = data?.agents.find(({ id }) => id === agentId);
  const isWrite = tool === "write" && agent?.tools.includes("workspace") === true;
  const path = isWrite ? (input as { path?: unknown } | null)?.path : undefined;
  const present = usePresentText(agent?.workspaceId ?? null, typeof path === "string" ? path : null);
  return <CallInput tool={tool} input={input} present={present} />;
}

/** Sends what a person says, once; somebody else may have been first. */
function useSending() {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  async function send(work: () => Promise<unknown>, said: string): Promise<void> {
    setBusy(true);
    setFault(null);
    try {
      await work();
      toast(said);
    } catch (error) {
      if (error instanceof ParleyError && error.status === 409) toast("Somebody else was first.");
      else setFault(errorText(error));
    } finally {
      setBusy(false);
      await queryClient.invalidateQueries({ queryKey: ["waiting"] });
    }
  }
  return { busy, fault, send };
}

function Decide({ call: { agentId, sessionId, approvalId, tool } }: OpenCallProps) {
  const [reason, setReason] = useState("");
  const { busy, fault, send } = useSending();
  const decide = (approved: boolean) => {
    const body = { approved, ...(reason.trim() !== "" && { reason: reason.trim() }) };
    const work = () => parley.toolApprovals.decide(agentId, sessionId, approvalId ?? "", body);
    void send(work, `${tool} is ${approved ? "approved" : "denied"}.`);
  };
  return (
    <form className="call-action" onSubmit={(event) => event.preventDefault()}>
      <input
        aria-label="Reason"
        placeholder="Reason (optional)"
        maxLength={1_000}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <Button tone="primary" data-act="approve" disabled={busy} onClick={() => decide(true)}>
        Approve
      </Button>
      <Button tone="danger" data-act="deny" disabled={busy} onClick={() => decide(false)}>
        Deny
      </Button>
      {fault !== null && <p role="alert">{fault}</p>}
    </form>
  );
}

function Answer({ call: { agentId, sessionId, toolCallId, tool } }: OpenCallProps) {
  const [text, setText] = useState("");
  const { busy, fault, send } = useSending();
  const settle = (result: { output: unknown } | { errorText: string }) =>
    void send(() => parley.toolCalls.settle(agentId, sessionId, toolCallId, result), `${tool} has its result.`);
  return (
    <form
      className="call-action"
      onSubmit={(event) => {
        event.preventDefault();
        settle({ output: asResult(text) });
      }}
    >
      <textarea
        aria-label="Result"
        placeholder="Result: JSON or text"
        rows={2}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" tone="primary" disabled={busy}>
        Send result
      </Button>
      <Button disabled={busy} onClick={() => settle({ errorText: text.trim() || "It failed." })}>
        Report failure
      </Button>
      {fault !== null && <p role="alert">{fault}</p>}
    </form>
  );
}
