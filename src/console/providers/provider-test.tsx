import type { Provider } from "parley/client";
import { useState } from "react";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { errorText } from "../api/queries.ts";
import { Button, ButtonLink } from "../parts/button.tsx";
import { countOf, durationText } from "../parts/moment.ts";

/** What a test came to. */
interface Outcome {
  readonly isGood: boolean;
  readonly text: string;
}

/** Asks the vendor something that costs least: its list of models, or, where it has none, one short answer as an agent that uses it. */
export function TestProvider({ provider }: { readonly provider: Pick<Provider, "id" | "providerType"> }) {
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const agents = useAgents().data?.agents ?? [];
  const agent = agents.find(({ providerId, status }) => providerId === provider.id && status !== "disabled");
  const isListed = provider.providerType !== "custom";
  async function test(): Promise<void> {
    setBusy(true);
    setOutcome(null);
    const began = performance.now();
    try {
      const said = isListed ? await readModels(provider.id) : await askOnce(agent?.id ?? "");
      setOutcome({ isGood: true, text: `${said} in ${durationText(performance.now() - began)}.` });
    } catch (error) {
      setOutcome({ isGood: false, text: errorText(error) });
    } finally {
      setBusy(false);
    }
  }
  // Only an agent knows a model to ask: the next step is to make one.
  if (!isListed && agent === undefined) return <ButtonLink to={newAgentPath(provider.id)}>New agent</ButtonLink>;
  return (
    <span className="provider-test">
      <Button disabled={busy} onClick={() => void test()}>
        {busy ? "Testing…" : "Test"}
      </Button>
      {outcome !== null && (
        <span role="status" className={outcome.isGood ? "said-success" : "said-failure"}>
          {outcome.text}
        </span>
      )}
    </span>
  );
}

/** Where an agent is made that uses a provider. */
export function newAgentPath(providerId: string): string {
  return `/agents/new?provider=${providerId}`;
}

async function readModels(providerId: string): Promise<string> {
  const { models } = await parley.providers.listModels(providerId);
  return `It listed ${countOf(models.length, "model")}`;
}

async function askOnce(agentId: string): Promise<string> {
  const parts = [{ type: "text" as const, text: "Say OK, and nothing else." }];
  const message = { id: crypto.randomUUID(), role: "user" as const, parts };
  await parley.agents.generate(agentId, { stream: false, messages: [message] });
  return "It answered";
}
