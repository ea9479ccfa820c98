import { useQuery } from "@tanstack/react-query";
import type { SessionDetails } from "parley/client";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { useFilters } from "../api/filters.ts";
import { queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { versionText } from "../api/versions.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { ButtonLink } from "../parts/button.tsx";
import { CopyableId, CopyLink } from "../parts/copyable-id.tsx";
import { CostFact, unpricedOf } from "../parts/cost.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { inOneLine } from "../parts/title-line.tsx";
import { toast } from "../parts/toasts.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { When } from "../parts/when.tsx";
import { SessionFiles } from "./session-files.tsx";
import { SessionTurns } from "./session-turns.tsx";
import { Transcript } from "./transcript.tsx";

interface SessionPlace {
  readonly agentId: string;
  readonly sessionId: string;
}

/** One session: what it is, what was said, its turns and what waits behind them. */
export function SessionPage({ agentId, sessionId }: SessionPlace) {
  const session = useQuery({
    queryKey: ["session", sessionId],
    queryFn: ({ signal }) => parley.sessions.get(agentId, sessionId, { signal }),
    refetchInterval: ({ state }) => (state.data?.busy ? 2000 : 10_000),
  });
  const mayRun = useMay("runner");
  // What it was found by.
  const [{ words }] = useFilters("words");
  return (
    <PageFrame
      title={titleOf(session.data)}
      parent={{ title: "Sessions", to: "/sessions" }}
      mark={session.data?.busy && <StatusBadge status="running" text="busy" />}
      actionsNeed="reader"
      actions={
        <>
          <CopyLink />
          {mayRun && (
            <ButtonLink to={`/playground?agent=${agentId}&session=${sessionId}`}>Open in playground</ButtonLink>
          )}
          <DeleteSession agentId={agentId} sessionId={sessionId} />
        </>
      }
    >
      <Await query={session}>
        {(details) => (
          <>
            <SessionFacts agentId={agentId} session={details} />
            {details.pending.length > 0 && <Pending session={details} />}
            <Section title="Transcript">
              <Transcript
                agentId={agentId}
                sessionId={sessionId}
                updatedAt={details.updatedAt}
                activeTurnId={details.activeTurnId}
                words={words}
              />
            </Section>
            <Section title="Turns">
              <SessionTurns sessionId={sessionId} activeTurnId={details.activeTurnId} />
            </Section>
            <SessionFiles agentId={agentId} />
          </>
        )}
      </Await>
    </PageFrame>
  );
}

/** What the session began with, in one line. */
function titleOf(session: SessionDetails | undefined): string {
  return inOneLine(session?.firstMessagePreview ?? "").slice(0, 120) || "Session";
}

function SessionFacts({ agentId, session }: { readonly agentId: string; readonly session: SessionDetails }) {
  const agent = useQuery({
    queryKey: ["agent", agentId],
    queryFn: ({ signal }) => parley.agents.get(agentId, { signal }),
  });
  const usage = useQuery({
    queryKey: ["session-usage", session.id, session.updatedAt],
    queryFn: ({ signal }) => parley.usage.get({ sessionId: session.id, groupBy: "model" }, { signal }),
  });
  // Of turns that have ended: without one, nothing is known.
  const totals = usage.data?.totals;
  const used = totals && (totals.requestCount === 0 ? null : totals);
  return (
    <>
      <Facts
        facts={{
          Id: <CopyableId id={session.id} />,
          Agent: <Link href={`/agents/${agentId}`}>{agent.data?.name ?? agentId}</Link>,
          Version: session.agentVersion === null ? "latest" : versionText(session.agentVersion),
          User: <UserLink userId={session.userId} />,
          Messages: countText(session.messageCount),
          Begun: <When at={session.createdAt} isExact />,
          "Last used": <When at={session.updatedAt} isExact />,
          Tokens: used && `${countText(used.inputTokens)} in, ${countText(used.outputTokens)} out`,
          Cost: used && <CostFact of={used} models={unpricedOf(usage.data?.buckets ?? [])} />,
          Turns: used && `${countText(used.requestCount)}, ${durationText(used.durationMs)}`,
        }}
      />
      {Object.keys(session.metadata).length > 0 && <JsonView label="Metadata" value={session.metadata} />}
    </>
  );
}

/** The turn that has not ended, and those that wait behind it, in their order. */
function Pending({ session: { pending } }: { readonly session: SessionDetails }) {
  return (
    <Section title="Queue">
      <ol className="queue">
        {pending.map(({ turnId, status, message }) => (
          <li key={turnId}>
            <StatusBadge status={status} />
            <Link href={`/turns/${turnId}`}>{turnId}</Link>
            <span className="clipped">
              {message.parts.map((part) => (part.type === "text" && "text" in part ? part.text : "")).join(" ")}
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function DeleteSession({ agentId, sessionId }: SessionPlace) {
  const [, navigate] = useLocation();
  const [deleteArtifacts, setDeleteArtifacts] = useState(false);
  async function remove(): Promise<void> {
    await parley.sessions.delete(agentId, sessionId, { deleteArtifacts });
    queryClient.removeQueries({ queryKey: ["session", sessionId] });
    await queryClient.invalidateQueries({ queryKey: ["sessions"] });
    navigate("/sessions", { replace: true });
    toast("The session is deleted.");
  }
  return (
    <ConfirmButton label="Delete" needs="runner" title="Delete this session?" onConfirm={remove}>
      <p>Its messages are erased and cannot be brought back. Its usage stays.</p>
      <label className="choice">
        <input
          type="checkbox"
          checked={deleteArtifacts}
          onChange={(event) => setDeleteArtifacts(event.target.checked)}
        />
        Delete the files that it wrote to the agent's workspace, too
      </label>
    </ConfirmButton>
  );
}
