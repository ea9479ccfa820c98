import { useQuery } from "@tanstack/react-query";
import type { Webhook } from "parley/client";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { CodeBlock } from "../parts/code-block.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { countOf } from "../parts/moment.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
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
            {known.enabled && known.failingSince !== null && <Failing webhook={known} since={known.failingSince} />}
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

/** Deliveries that are counted and sent again at once. */
const countedMax = 100;

/** Says that nothing arrives, how much waits, and sends all of it again. */
function Failing({ webhook, since }: { readonly webhook: Webhook; readonly since: string }) {
  const pending = useQuery({
    queryKey: ["webhook-deliveries", webhook.id, "pending", "counted"],
    queryFn: ({ signal }) =>
      parley.webhookDeliveries.list(webhook.id, { status: "pending", limit: countedMax }, { signal }),
    refetchInterval: 5_000,
  });
  const waiting = pending.data?.data ?? [];
  const nextAt = waiting
    .map(({ nextAttemptAt }) => nextAttemptAt)
    .filter((at) => at !== null)
    .toSorted()[0];
  async function retryAll(): Promise<void> {
    for (const { id } of waiting) await parley.webhookDeliveries.retry(webhook.id, id);
    await queryClient.invalidateQueries({ queryKey: ["webhook-deliveries", webhook.id] });
    await queryClient.invalidateQueries({ queryKey: ["webhook", webhook.id] });
    toast(`${countOf(waiting.length, "delivery", "deliveries")} sent again.`);
  }
  return (
    <section className="failure-box" aria-label="Failing">
      <p>
        <strong>Failing</strong> since <When at={since} />.{" "}
        {pending.data !== undefined &&
          `${pending.data.nextCursor === null ? "" : "More than "}${countOf(waiting.length, "delivery waits", "deliveries wait")}.`}{" "}
        {nextAt !== undefined && Date.parse(nextAt) > Date.now() && (
          <>
            The next attempt is <When at={nextAt} />.
          </>
        )}
      </p>
      {waiting.length > 0 && (
        <ConfirmButton label="Retry all" tone="plain" title="Send what waits now?" onConfirm={retryAll}>
          <p>{countOf(waiting.length, "delivery is", "deliveries are")} sent, one after the other.</p>
        </ConfirmButton>
      )}
    </section>
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
