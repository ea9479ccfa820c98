import type { ClientTokenCreated } from "parley/client";
import { useState } from "react";
import { firstUsable, useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { useMay } from "../api/role.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { Button } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { CheckField, SelectField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { exactText } from "../parts/moment.ts";
import { toast, toastError } from "../parts/toasts.tsx";

const lifetimes = [
  ["900", "15 minutes"],
  ["3600", "an hour"],
  ["28800", "8 hours"],
] as const;

/** Makes a token with which a web page speaks to an agent as one end user. */
export function NewClientToken({ userId }: { readonly userId: string }) {
  const [open, setOpen] = useState(false);
  if (!useMay("runner")) return null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>New client token</Button>
      <Dialog title="New client token" open={open} onOpenChange={setOpen}>
        {open && <TokenForm userId={userId} onDone={() => setOpen(false)} />}
      </Dialog>
    </>
  );
}

function TokenForm({ userId, onDone }: { readonly userId: string; onDone(): void }) {
  const [made, setMade] = useState<ClientTokenCreated | null>(null);
  const agents = useAgents().data?.agents ?? [];
  const begun = { agentId: "", lifetime: "3600", approvals: true, clientTools: true, forks: false };
  const form = useApiForm(begun, async ({ lifetime, ...abilities }) => {
    const can = (["approvals", "clientTools", "forks"] as const).filter((ability) => abilities[ability]);
    setMade(await parley.clientTokens.create({ agentId, userId, expiresInSeconds: Number(lifetime), can }));
  });
  const agentId = form.values.agentId || (firstUsable(agents)?.id ?? "");
  if (made !== null) return <MadeToken made={made} onDone={onDone} />;
  return (
    <ApiForm form={form} action="Create" needs="runner" disabled={agentId === ""}>
      <AgentPicker value={agentId} onChange={(chosen) => form.set("agentId", chosen)} />
      <SelectField form={form} name="lifetime" label="Good for" options={lifetimes} />
      <CheckField form={form} name="approvals" label="Decides approvals" hint="Of this user's sessions." />
      <CheckField form={form} name="clientTools" label="Gives results of client tools" />
      <CheckField form={form} name="forks" label="Forks sessions" />
    </ApiForm>
  );
}

function MadeToken({ made, onDone }: { readonly made: ClientTokenCreated; onDone(): void }) {
  async function revoke(): Promise<void> {
    await parley.clientTokens.delete(made.id);
    toast("The token is deleted.");
    onDone();
  }
  return (
    <>
      <p>
        Copy the token now. It is not shown again, and ends {exactText(made.expiresAt)}. A page sends it as an API key
        is sent; it reaches this user's own sessions with the agent, and nothing else.
      </p>
      <p>
        <CopyableId id={made.token} />
      </p>
      <footer>
        <Button tone="danger" onClick={() => void revoke().catch(toastError)}>
          Delete it
        </Button>
        <Button tone="primary" onClick={onDone}>
          Done
        </Button>
      </footer>
    </>
  );
}
