import { useState } from "react";
import { Link } from "wouter";
import { useAgents } from "../api/agents.ts";
import { Button } from "../parts/button.tsx";
import { PageFrame } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { usePlaygroundAddress } from "./address.ts";
import { AgentChoice, VersionChoice } from "./choices.tsx";
import { Conversations } from "./conversations.tsx";
import { useLastAddress } from "./last-address.ts";
import { useOpenSession } from "./session-fields.tsx";

/** Chat with an agent, or with two versions of it at once. */
export default function Playground() {
  const agents = useAgents();
  const [{ agentId, isComparing, columns }, change] = usePlaygroundAddress();
  const list = agents.data?.agents;
  useLastAddress(agentId === null ? list : undefined);
  const fresh = { session: null, session2: null };
  const [begun, setBegun] = useState(0);
  function begin(): void {
    change(fresh, true);
    setBegun((count) => count + 1);
  }
  function compare(): void {
    const latest = list?.find(({ id }) => id === agentId)?.version ?? 1;
    const version = columns[0]?.version ?? null;
    // A draft is compared with what the agent has, and that with what it had before.
    const before = latest > 1 && (version === null || version === latest) ? String(latest - 1) : null;
    change({ compare: isComparing ? null : "1", version2: isComparing ? null : before, ...fresh }, true);
  }
  return (
    <PageFrame
      title="Playground"
      actionsNeed="runner"
      actions={
        <>
          <Button icon="plus" onClick={begin}>
            New conversation
          </Button>
          <Button aria-pressed={isComparing} onClick={compare}>
            Compare
          </Button>
        </>
      }
    >
      <Await query={agents}>
        {({ agents: all }) =>
          all.length === 0 ? (
            <Empty>
              There is no agent yet. <Link href="/agents/new">Make one</Link> first.
            </Empty>
          ) : (
            <>
              <div className="talk-with">
                <AgentChoice
                  agents={all}
                  agentId={agentId}
                  onChange={(agent) => change({ agent, version: null, version2: null, ...fresh }, true)}
                />
                <Versions />
              </div>
              <Conversations begun={begun} />
            </>
          )
        }
      </Await>
    </PageFrame>
  );
}

/** Which versions are spoken with; a session stays with its own, so another one begins a new conversation. */
function Versions() {
  const [{ agentId, columns }, change] = usePlaygroundAddress();
  const session = useOpenSession();
  if (agentId === null) return null;
  return columns.map(
    (column, at) =>
      column && (
        <VersionChoice
          // There are two of them, in this order.
          key={at}
          agentId={agentId}
          version={at === 0 && column.sessionId !== null ? (session?.agentVersion ?? column.version) : column.version}
          onChange={(chosen) =>
            change(at === 0 ? { version: chosen, session: null } : { version2: chosen, session2: null }, true)
          }
        />
      ),
  );
}
