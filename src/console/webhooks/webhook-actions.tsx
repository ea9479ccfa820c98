import type { Webhook } from "parley/client";
import { useState } from "react";
import { useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import { ConfirmButton, Dialog } from "../parts/dialog.tsx";
import { toast, toastError } from "../parts/toasts.tsx";
import { WebhookSecret } from "./webhook-secret.tsx";

/** What can be done with a webhook. */
export function WebhookActions({ webhook }: { readonly webhook: Webhook }) {
  const [, navigate] = useLocation();
  const [secret, setSecret] = useState<string | null>(null);
  const { id, enabled } = webhook;
  async function readAnew(): Promise<void> {
    await queryClient.invalidateQueries({ queryKey: ["webhook", id] });
    await queryClient.invalidateQueries({ queryKey: ["webhooks"] });
  }
  async function sendTest(): Promise<void> {
    const { status } = await parley.webhooks.test(id);
    await queryClient.invalidateQueries({ queryKey: ["webhook-deliveries", id] });
    toast(status === "succeeded" ? "The server took the test event." : "The server did not take the test event.");
  }
  async function toggle(): Promise<void> {
    await parley.webhooks.update(id, { enabled: !enabled });
    await readAnew();
    toast(enabled ? "The webhook is disabled." : "The webhook is enabled.");
  }
  async function rotate(): Promise<void> {
    const rotated = await parley.webhooks.rotateSecret(id);
    setSecret(rotated.secret);
    await readAnew();
  }
  async function remove(): Promise<void> {
    await parley.webhooks.delete(id);
    queryClient.removeQueries({ queryKey: ["webhook", id] });
    await queryClient.invalidateQueries({ queryKey: ["webhooks"] });
    navigate("/webhooks", { replace: true });
    toast("The webhook is deleted.");
  }
  return (
    <>
      <Button onClick={() => void sendTest().catch(toastError)}>Send test</Button>
      <Button onClick={() => void toggle().catch(toastError)}>{enabled ? "Disable" : "Enable"}</Button>
      <ConfirmButton label="Rotate secret" title="Rotate the secret?" tone="plain" onConfirm={rotate}>
        <p>Events are signed with the new secret and the present one for 24 hours, then with the new one alone.</p>
      </ConfirmButton>
      <ConfirmButton label="Delete" title="Delete this webhook?" onConfirm={remove}>
        <p>Nothing is sent to {webhook.url} any more, and its deliveries are erased.</p>
      </ConfirmButton>
      <Dialog title="The new secret" open={secret !== null} onOpenChange={() => setSecret(null)}>
        {secret !== null && <WebhookSecret secret={secret} onDone={() => setSecret(null)} />}
      </Dialog>
    </>
  );
}
