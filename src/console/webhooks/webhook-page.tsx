import { useQuery } from "@tanstack/react-query";
import type { Webhook } from "parley/client";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { CodeBlock } from "../parts/code-block.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { Failing } from "./failing.tsx";
import { WebhookActions } from "./webhook-actions.tsx";
import { WebhookControls } from "./webhook-controls.tsx";
import { WebhookDeliveries } from "./webhook-deliveries.tsx";
import { formOfWebhook, type WebhookForm, webhookOfForm, webhookStatus } from "./webhook-words.ts";

/** One webhook: its state, what was sent to it, and its settings. */
export function WebhookPage({ webhookId }: { readonly webhookId: string }) {
  const query = useQuery({
    queryKey: ["webhook", webhookId],
    queryFn: ({ signal }) => parley.webhooks.get(webhookId, { signal }),
    refetchInterval: 5_000,
  });
  const webhook = query.data;
  return (
    <PageFrame
      title={webhook?.description || "Webhook"}
      parent={{ title: "Webhooks", to: "/webhooks" }}
      mark={webhook && <StatusBadge status={webhookStatus(webhook)} />}
      actions={webhook && <WebhookActions webhook={webhook} />}
    >
      <Await query={query}>
        {(known) => (
          <>
            {known.disabledReason !== null && (
              <p className="failure">
                <strong>{known.disabledReason.code}</strong> {known.disabledReason.message}
              </p>
            )}
            {known.enabled && known.failingSince !== null && <Failing webhook={known} />}
            <WebhookFacts webhook={known} />
            <Section title="Deliveries">
              <WebhookDeliveries webhookId={known.id} />
            </Section>
            <HowToVerify />
            <Section title="Settings">
              <Settings key={known.updatedAt} webhook={known} />
            </Section>
          </>
        )}
      </Await>
    </PageFrame>
  );
}

/** How a receiver makes sure that an event is from here. */
function HowToVerify() {
  return (
    <details>
      <summary>How to verify</summary>
      <CodeBlock
        label="Node, Bun or Deno, with the package standardwebhooks"
        text={[
          'import { Webhook } from "standardwebhooks";',
          "",
          "// Throws where the signature is wrong, or older than five minutes. The body is the text as it came.",
          "const event = new Webhook(secret).verify(body, request.headers);",
        ].join("\n")}
      />
    </details>
  );
}

function WebhookFacts({ webhook }: { readonly webhook: Webhook }) {
  const { failingSince, previousSecretExpiresAt: until } = webhook;
  return (
    <Facts
      facts={{
        Id: <CopyableId id={webhook.id} />,
        URL: webhook.url,
        Events: webhook.events.join(", "),
        ...(failingSince !== null && { "Failing since": <When at={failingSince} /> }),
        ...(until !== null && { "Secret before, until": <When at={until} /> }),
        Created: <When at={webhook.createdAt} />,
      }}
    />
  );
}

function Settings({ webhook }: { readonly webhook: Webhook }) {
  const form = useApiForm<WebhookForm>(formOfWebhook(webhook), async (values) => {
    await parley.webhooks.update(webhook.id, webhookOfForm(values));
    await queryClient.invalidateQueries({ queryKey: ["webhook", webhook.id] });
    await queryClient.invalidateQueries({ queryKey: ["webhooks"] });
    toast("The webhook is saved.");
  });
  return (
    <ApiForm form={form} action="Save" disabled={!form.isChanged}>
      <WebhookControls form={form} />
    </ApiForm>
  );
}
