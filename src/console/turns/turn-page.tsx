import { useQuery } from "@tanstack/react-query";
import type { TurnDetails } from "parley/client";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { ButtonLink } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { Waterfall } from "../parts/waterfall.tsx";
import { When } from "../parts/when.tsx";
import { longestPart, stepSpans } from "./step-spans.ts";
import { lengthOf, openStatuses } from "./turn-filters.ts";

/** One turn: what became of it, and what it did when. */
export function TurnPage({ turnId }: { readonly turnId: string }) {
  const query = useQuery({
    queryKey: ["turn", turnId],
    queryFn: ({ signal }) => parley.turns.get(turnId, { signal }),
    refetchInterval: ({ state }) => (state.data === undefined || isOpen(state.data) ? 1_000 : false),
  });
  const turn = query.data;
  return (
    <PageFrame
      title="Turn"
      parent={{ title: "Turns", to: "/turns" }}
      mark={turn && <StatusBadge status={turn.status} />}
      actionsNeed="reader"
      actions={
        turn && (
          <>
            {turn.sessionId !== null && (
              <ButtonLink to={`/sessions/${turn.agentId}/${turn.sessionId}`}>Open session</ButtonLink>
            )}
            {isOpen(turn) && turn.sessionId !== null && <CancelTurn turn={turn} sessionId={turn.sessionId} />}
          </>
        )
      }
    >
      <Await query={query}>
        {(details) => (
          <>
            {details.error !== null && (
              <p className="failure">
                <strong>{details.error.code}</strong> {details.error.message}
              </p>
            )}
            <TurnFacts turn={details} />
            <Section title="Steps">
              <Steps turn={details} />
            </Section>
          </>
        )}
      </Await>
    </PageFrame>
  );
}

function isOpen({ status }: Pick<TurnDetails, "status">): boolean {
  return openStatuses.some((open) => open === status);
}

function TurnFacts({ turn }: { readonly turn: TurnDetails }) {
  const agent = useQuery({
    queryKey: ["agent", turn.agentId],
    queryFn: ({ signal }) => parley.agents.get(turn.agentId, { signal }),
  });
  const { acceptedAt, startedAt, firstTextAt, finishedAt } = turn;
  const after = (at: string | null) =>
    at === null ? null : `${durationText(Date.parse(at) - Date.parse(acceptedAt))} after it was accepted`;
  return (
    <Facts
      facts={{
        Id: <CopyableId id={turn.id} />,
        Agent: <Link href={`/agents/${turn.agentId}`}>{agent.data?.name ?? turn.agentId}</Link>,
        Version: turn.agentVersion,
        Kind: turn.kind,
        User: turn.userId || null,
        Accepted: <When at={acceptedAt} />,
        Started: after(startedAt),
        "First text": after(firstTextAt),
        Took: finishedAt === null ? null : durationText(lengthOf(turn, Date.now())),
        "Most of it": finishedAt === null ? undefined : mostText(turn),
        Attempts: turn.attempts,
        Tokens: `${countText(turn.inputTokens)} in, ${countText(turn.outputTokens)} out${turn.usageEstimated ? " (estimated)" : ""}`,
        "Model calls": turn.modelCalls,
        "Tools left out": turn.toolsLeftOut.length === 0 ? undefined : leftOutText(turn),
        Request: turn.requestId === null ? null : <CopyableId id={turn.requestId} />,
      }}
    />
  );
}

/** Tools that a vendor was not offered, and why. */
function leftOutText({ toolsLeftOut }: TurnDetails): string {
  return toolsLeftOut.map(({ tool, reason }) => `${tool}: ${reason}`).join(" ");
}

/** Why it took so long, in a few words. */
function mostText(turn: TurnDetails): string | null {
  const part = longestPart(stepSpans(turn));
  return part && `${part.label}, ${durationText(part.milliseconds)}`;
}

function Steps({ turn }: { readonly turn: TurnDetails }) {
  if (turn.steps.length === 0)
    return <Empty>{turn.startedAt === null ? "No worker has begun it yet." : "No model was called yet."}</Empty>;
  return <Waterfall caption="Steps and their tool calls" spans={stepSpans(turn)} />;
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
