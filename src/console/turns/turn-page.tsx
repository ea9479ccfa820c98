import { useQuery } from "@tanstack/react-query";
import type { TurnDetails } from "parley/client";
import { Link, useLocation } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { versionText } from "../api/versions.ts";
import { FailureBox } from "../conversation/failure-box.tsx";
import { MessageView } from "../conversation/message-view.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { ButtonLink } from "../parts/button.tsx";
import { CopyableId, CopyLink } from "../parts/copyable-id.tsx";
import { CostFact } from "../parts/cost.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { isUncounted } from "../parts/money.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { inOneLine } from "../parts/title-line.tsx";
import { toast } from "../parts/toasts.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { When } from "../parts/when.tsx";
import { longestPart, stepSpans } from "./step-spans.ts";
import { openStatuses } from "./turn-filters.ts";
import { TurnSteps } from "./turn-steps.tsx";
import { ranOf } from "./turn-times.ts";
import { messageText, useTurnWords } from "./turn-words.ts";

/** One turn: why it ended as it did, what was asked and said, and what it did when. */
export function TurnPage({ turnId }: { readonly turnId: string }) {
  const query = useQuery({
    queryKey: ["turn", turnId],
    queryFn: ({ signal }) => parley.turns.get(turnId, { signal }),
    refetchInterval: ({ state }) => (state.data === undefined || isOpen(state.data) ? 1_000 : false),
  });
  const turn = query.data;
  const words = useTurnWords(turnId, turn?.status ?? "");
  const question = words.data?.question ?? null;
  const [, navigate] = useLocation();
  return (
    <PageFrame
      title={inOneLine(messageText(question)).slice(0, 120) || "Turn"}
      parent={{ title: "Turns", to: "/turns" }}
      mark={turn && <StatusBadge status={turn.status} />}
      actionsNeed="reader"
      actions={turn && <TurnActions turn={turn} />}
    >
      <Await query={query}>
        {(details) => (
          <>
            {(details.status === "failed" || details.status === "canceled") && (
              <FailureBox turn={details} onRunAgain={(begun) => begun !== null && navigate(`/turns/${begun}`)} />
            )}
            {question !== null && (
              <Section title="Asked">
                <MessageView message={question} />
              </Section>
            )}
            <Section title="Steps">
              <TurnSteps turn={details} answer={words.data?.answer ?? null} />
              {words.data?.isLeftOut && (
                <p className="hint">What was said is too long for this page: the session has it.</p>
              )}
            </Section>
            <TurnFacts turn={details} />
          </>
        )}
      </Await>
    </PageFrame>
  );
}

function TurnActions({ turn }: { readonly turn: TurnDetails }) {
  return (
    <>
      <CopyLink />
      {turn.sessionId !== null && (
        <ButtonLink to={`/sessions/${turn.agentId}/${turn.sessionId}`}>Open session</ButtonLink>
      )}
      {isOpen(turn) && turn.sessionId !== null && <CancelTurn turn={turn} sessionId={turn.sessionId} />}
    </>
  );
}

function isOpen({ status }: Pick<TurnDetails, "status">): boolean {
  return openStatuses.some((open) => open === status);
}

function TurnFacts({ turn }: { readonly turn: TurnDetails }) {
  const agentName = useAgentName();
  const { acceptedAt, startedAt, firstTextAt, finishedAt } = turn;
  const after = (at: string | null) =>
    at === null ? null : `${durationText(Date.parse(at) - Date.parse(acceptedAt))} after it was accepted`;
  return (
    <Section title="Details">
      <Facts
        facts={{
          Agent: (
            <>
              <Link href={`/agents/${turn.agentId}`}>{agentName(turn.agentId)}</Link>, version{" "}
              {versionText(turn.agentVersion)}
            </>
          ),
          User: <UserLink userId={turn.userId} />,
          Kind: turn.kind,
          Accepted: <When at={acceptedAt} isExact />,
          Started: after(startedAt),
          "First text": after(firstTextAt),
          Ran: startedAt === null ? null : durationText(ranOf(turn, Date.now())),
          Waited: turn.waitedMs === 0 ? undefined : `${durationText(turn.waitedMs)} for people`,
          "Longest part": finishedAt === null ? undefined : mostText(turn),
          Tokens: isUncounted(turn)
            ? null
            : `${countText(turn.inputTokens)} in, ${countText(turn.outputTokens)} out${turn.usageEstimated ? " (estimated)" : ""}`,
          "Of which": partsText(turn),
          Cost: isUncounted(turn) ? null : <CostFact of={turn} models={modelsOf(turn)} />,
          "Model calls": callsText(turn),
          Attempts: turn.attempts,
          "Tools left out": turn.toolsLeftOut.length === 0 ? undefined : leftOutText(turn),
          "Turn id": <CopyableId id={turn.id} />,
          "Request id": turn.requestId === null ? null : <CopyableId id={turn.requestId} />,
        }}
      />
    </Section>
  );
}

/** The models that answered. */
function modelsOf({ steps }: TurnDetails): readonly string[] {
  return [...new Set(steps.map(({ model }) => model))];
}

/** How many calls of a model there were, with those that failed; null where there was none yet. */
function callsText({ modelCalls, steps }: TurnDetails): string | null {
  const failed = steps.reduce((count, { failures }) => count + failures.length, 0);
  if (failed === 0) return modelCalls === 0 ? null : countText(modelCalls);
  return modelCalls === 0 ? `${countText(failed)} failed` : `${countText(modelCalls)}, and ${countText(failed)} failed`;
}

/** Tokens of a special kind; undefined where there are none. */
function partsText(turn: TurnDetails): string | undefined {
  const parts = [
    [turn.cachedInputTokens, "read from the cache"],
    [turn.cacheWriteTokens, "written to it"],
    [turn.reasoningTokens, "of thoughts"],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, words]) => `${countText(count)} ${words}`);
  return said.length === 0 ? undefined : said.join(", ");
}

/** Tools that a vendor was not offered, and why. */
function leftOutText({ toolsLeftOut }: TurnDetails): string {
  return toolsLeftOut.map(({ tool, reason }) => `${tool}: ${reason}`).join(" ");
}

/** Why it took so long, in a few words. */
function mostText(turn: TurnDetails): string | null {
  const part = longestPart(stepSpans(turn));
  if (part === null) return null;
  // A call that somebody had to decide lasts as long as that took.
  if (2 * turn.waitedMs > part.milliseconds) return `waiting for people, ${durationText(turn.waitedMs)}`;
  return `${part.label}, ${durationText(part.milliseconds)}`;
}

/** Cancelling goes by the session: its turn that has not ended, which is this one or one before it. */
function CancelTurn({ turn, sessionId }: { readonly turn: TurnDetails; readonly sessionId: string }) {
  const session = useQuery({
    queryKey: ["session", sessionId],
    queryFn: ({ signal }) => parley.sessions.get(turn.agentId, sessionId, { signal }),
    refetchInterval: 2_000,
  });
  if (session.data?.activeTurnId !== turn.id) return null;
  async function cancel(): Promise<void> {
    await parley.sessions.cancel(turn.agentId, sessionId, { keep: "partial" });
    toast("The turn is canceled.");
    await queryClient.invalidateQueries({ queryKey: ["turn", turn.id] });
  }
  return (
    <ConfirmButton label="Cancel" needs="runner" title="Cancel this turn?" onConfirm={cancel}>
      <p>It ends now. What it has said is kept in the transcript.</p>
    </ConfirmButton>
  );
}
