import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useProviders } from "../api/providers.ts";
import { useMay } from "../api/role.ts";
import { Button } from "../parts/button.tsx";
import { CodeBlock } from "../parts/code-block.tsx";
import { Section } from "../parts/page.tsx";

/** Where the browser remembers that the steps are to be hidden. */
const hiddenPlace = "parley.first-steps.hidden";

/** What leads to a first agent of one's own, and what is done of it; nothing once all is done, or hidden. */
export function FirstSteps() {
  const mayEdit = useMay("editor");
  const [hidden, setHidden] = useState(() => localStorage.getItem(hiddenPlace) !== null);
  const providers = useProviders();
  const agents = useAgents();
  const sessions = useQuery({
    queryKey: ["sessions", "any"],
    queryFn: ({ signal }) => parley.sessions.listLatest({ limit: 1 }, { signal }),
  });
  if (!mayEdit || hidden || !providers.data || !agents.data || !sessions.data) return null;
  // What `npm start` brings is not one's own: an agent that was changed, or another one, is.
  const own = agents.data.agents.filter(({ version, name }) => version > 1 || !name.startsWith("Demo agent"));
  const agent = own[0] ?? agents.data.agents[0];
  const steps = [
    {
      isDone: providers.data.providers.length > 0,
      to: "/providers",
      text: "Add a provider: a model vendor with your key",
    },
    { isDone: own.length > 0, to: "/agents/new", text: "Make an agent" },
    { isDone: sessions.data.data.length > 0, to: "/playground", text: "Talk to it" },
  ];
  if (steps.every(({ isDone }) => isDone)) return null;
  function hide(): void {
    localStorage.setItem(hiddenPlace, "1");
    setHidden(true);
  }
  return (
    <Section title="First steps" actions={<Button onClick={hide}>Hide</Button>}>
      <ol className="first-steps">
        {steps.map(({ isDone, to, text }) => (
          <li key={to} data-done={isDone}>
            <span aria-hidden="true">{isDone ? "☑" : "☐"}</span>{" "}
            {isDone ? (
              <>
                {text}
                <span className="unseen">, done</span>
              </>
            ) : (
              <Link href={to}>{text}</Link>
            )}
          </li>
        ))}
        {agent !== undefined && (
          <li>
            <span aria-hidden="true">☐</span> Call it from a program; <Link href="/keys">make a key</Link> for that
            <CodeBlock label="A first turn" text={curlOf(agent.id)} />
          </li>
        )}
      </ol>
    </Section>
  );
}

function curlOf(agentId: string): string {
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello!" }] };
  return [
    `curl -N ${window.location.origin}/v1/agents/${agentId}/sessions \\`,
    `  -H 'Authorization: Bearer YOUR_KEY' -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify({ message })}'`,
  ].join("\n");
}
