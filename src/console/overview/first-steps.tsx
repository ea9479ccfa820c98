import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { StepsDone } from "../../console-shapes/sessions.ts";
import { firstUsable, useAgents } from "../api/agents.ts";
import { readConsole } from "../api/fetch.ts";
import { useMay } from "../api/role.ts";
import { useConsoleSession } from "../api/session.ts";
import { Button } from "../parts/button.tsx";
import { CodeBlock } from "../parts/code-block.tsx";
import { Section } from "../parts/page.tsx";

/** Where the browser remembers that a tenant's steps are to be hidden. */
const hiddenPlace = "parley.first-steps.hidden";
/** How often it is looked what is done, in ms, until all is. */
const refreshMs = 10_000;

const steps = [
  {
    name: "provider",
    to: "/providers?new=1",
    needs: "editor",
    text: "Add a model provider with your key, and get an answer from it",
  },
  { name: "agent", to: "/agents/new", needs: "editor", text: "Make an agent and give it a model" },
  { name: "turn", to: "/playground", needs: "runner", text: "Talk to it" },
  { name: "key", to: "/keys", needs: "admin", text: "Make a key for your program, and call the agent with it" },
] as const;

/** What leads to agents that a program uses, ticked by what the tenant has; it stays until all is done, or hidden. */
export function FirstSteps() {
  const mayEdit = useMay("editor");
  const principal = useConsoleSession().data?.principal;
  const place = `${hiddenPlace}.${principal?.kind === "tenant" ? principal.tenantId : ""}`;
  const [hidden, setHidden] = useState(() => localStorage.getItem(place) !== null);
  const done = useQuery({
    queryKey: ["first-steps"],
    queryFn: ({ signal }) => readConsole<StepsDone>("/console/api/first-steps", { signal }),
    enabled: mayEdit && !hidden,
    refetchInterval: ({ state }) => (state.data !== undefined && isAllDone(state.data) ? false : refreshMs),
  });
  if (!mayEdit || hidden || done.data === undefined || isAllDone(done.data)) return null;
  const known = done.data;
  function hide(): void {
    localStorage.setItem(place, "1");
    setHidden(true);
  }
  return (
    <Section title="First steps" actions={<Button onClick={hide}>Hide</Button>}>
      <ol className="first-steps">
        {steps.map((step) => (
          <Step key={step.name} step={step} isDone={known[step.name]} />
        ))}
      </ol>
    </Section>
  );
}

function isAllDone(done: StepsDone): boolean {
  return steps.every(({ name }) => done[name]);
}

function Step({
  step: { name, to, needs, text },
  isDone,
}: {
  readonly step: (typeof steps)[number];
  readonly isDone: boolean;
}) {
  const mayDo = useMay(needs);
  return (
    <li data-done={isDone}>
      <span aria-hidden="true">{isDone ? "☑" : "☐"}</span> {isDone || !mayDo ? text : <Link href={to}>{text}</Link>}
      <span className="unseen">{isDone ? ", done" : ", not done yet"}</span>
      {name === "key" && !isDone && <FirstCall />}
    </li>
  );
}

/** A call of an agent as a program makes it. */
function FirstCall() {
  const agent = firstUsable(useAgents().data?.agents ?? []);
  return agent === undefined ? null : <CodeBlock label="A first turn" text={curlOf(agent.id)} />;
}

function curlOf(agentId: string): string {
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello!" }] };
  return [
    `curl -N ${window.location.origin}/v1/agents/${agentId}/sessions \\`,
    `  -H 'Authorization: Bearer YOUR_KEY' -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify({ message })}'`,
  ].join("\n");
}
