import type { FileUIPart } from "ai";
import { useId, useState } from "react";
import { Link } from "wouter";
import { useAgents } from "../api/agents.ts";
import { Button } from "../parts/button.tsx";
import { PageFrame } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { toastError } from "../parts/toasts.tsx";
import { usePlaygroundAddress } from "./address.ts";
import { AgentChoice, VersionChoice } from "./choices.tsx";
import { Composer } from "./composer.tsx";
import { useLastAddress } from "./last-address.ts";
import { PastTalks } from "./past.tsx";
import type { TalkPhase } from "./phase.ts";
import type { Talk } from "./talk.ts";
import { TalkView } from "./talk-view.tsx";
import { useTalk } from "./use-talk.ts";

/** Chat with an agent, or with two versions of it at once. */
export default function Playground() {
  const agents = useAgents();
  const [{ agentId, isComparing }, change] = usePlaygroundAddress();
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
    const before = latest > 1 ? String(latest - 1) : null;
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
                <AsUser />
              </div>
              <Columns begun={begun} />
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
  if (agentId === null) return null;
  return columns.map(
    (column, at) =>
      column && (
        <VersionChoice
          // There are two of them, in this order.
          key={at}
          agentId={agentId}
          version={column.version}
          onChange={(chosen) =>
            change(at === 0 ? { version: chosen, session: null } : { version2: chosen, session2: null }, true)
          }
        />
      ),
  );
}

/** Whom the next conversation is with; a session stays with its own user. */
function AsUser() {
  const [{ agentId, columns, userId }, change] = usePlaygroundAddress();
  const id = useId();
  if (agentId === null || columns.some((column) => column !== null && column.sessionId !== null)) return null;
  return (
    <div className="field">
      <label htmlFor={id}>As user</label>
      <input
        id={id}
        autoComplete="off"
        placeholder="nobody"
        value={userId}
        onChange={(event) => change({ user: event.target.value || null })}
      />
    </div>
  );
}

/** The one or two conversations, and the field for what is said to all of them. */
function Columns({ begun }: { readonly begun: number }) {
  const [{ agentId, columns, isComparing, userId }, change] = usePlaygroundAddress();
  const first = useTalk(columns[0], (session) => change({ session }));
  const second = useTalk(columns[1], (session2) => change({ session2 }));
  const [firstPhase, setFirstPhase] = useState<TalkPhase>("empty");
  const [secondPhase, setSecondPhase] = useState<TalkPhase>("empty");
  if (agentId === null || first.talk === null) return null;
  for (const { talk } of [first, second]) if (talk !== null) talk.userId = userId;
  const shown = [
    { talk: first.talk, renew: first.renew, phase: firstPhase, onPhase: setFirstPhase, session: "session" },
    ...(second.talk === null
      ? []
      : [
          {
            talk: second.talk,
            renew: second.renew,
            phase: secondPhase,
            onPhase: setSecondPhase,
            session: "session2",
          },
        ]),
  ] as const;
  const all = (act: (talk: Talk) => Promise<unknown>) => {
    for (const { talk } of shown) void act(talk).catch(toastError);
  };
  const is = (phase: TalkPhase) => shown.some((column) => column.phase === phase);
  function stop(): void {
    for (const { talk, phase, renew } of shown)
      if (phase === "running") void talk.chat.stop();
      else if (phase === "waiting") void talk.cancel().then(renew, toastError);
  }
  const send = (text: string, files: FileUIPart[]) =>
    all((talk) => talk.chat.sendMessage(text.trim() === "" ? { files } : { text, files }));
  return (
    <div className="playground" data-columns={shown.length}>
      {!isComparing && (
        <PastTalks
          agentId={agentId}
          sessionId={columns[0]?.sessionId ?? null}
          onChoose={(session) => change({ session }, true)}
        />
      )}
      <div className="columns">
        {shown.map(({ talk, renew, onPhase, session }, at) => (
          // biome-ignore lint/a11y/useSemanticElements: the two columns are a group each, not fields.
          <div key={session} role="group" aria-label={isComparing ? ["First", "Second"][at] : "Talk"}>
            {isComparing && <h2>{talk.version === null ? "Latest version" : `Version ${talk.version}`}</h2>}
            <TalkView
              key={talk.id}
              talk={talk}
              renew={renew}
              onPhase={onPhase}
              onFork={(forked) => change({ [session]: forked }, true)}
            />
          </div>
        ))}
      </div>
      <Composer
        key={agentId}
        fresh={begun}
        hindrance={is("waiting") ? "Decide first, or stop the turn" : null}
        onSend={send}
      >
        {(is("running") || is("waiting")) && (
          <Button icon="stop" onClick={stop}>
            Stop
          </Button>
        )}
        {!is("running") && !is("waiting") && is("over") && (
          <Button icon="again" onClick={() => all((talk) => talk.chat.regenerate())}>
            Regenerate
          </Button>
        )}
      </Composer>
    </div>
  );
}
