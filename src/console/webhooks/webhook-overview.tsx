import type { Webhook } from "parley/client";
import { useState } from "react";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";
import { FailingFacts } from "./failing.tsx";
import { WebhookControls } from "./webhook-controls.tsx";
import { WebhookSecret } from "./webhook-secret.tsx";
import { formOfWebhook, type WebhookForm, webhookOfForm, webhookStatus } from "./webhook-words.ts";

const columns: readonly Column<Webhook>[] = [
  {
    name: "URL",
    cell: ({ id, url }) => (
      <Link href={`/webhooks/${id}`} className="row-link">
        {url}
      </Link>
    ),
  },
  { name: "Description", cell: ({ description }) => description || <span className="faint">–</span> },
  {
    name: "Status",
    cell: (webhook) => (
      <>
        <StatusBadge status={webhookStatus(webhook)} />
        {webhook.enabled && webhook.failingSince !== null && (
          <span className="block said-failure">
            <FailingFacts webhook={webhook} />
          </span>
        )}
      </>
    ),
  },
  { name: "Events", cell: ({ events }) => events.join(", "), wideOnly: true },
  { name: "Created", cell: ({ createdAt }) => <When at={createdAt} /> },
];

/** The webhooks, the newest first, and a form that adds one. */
export function WebhookOverview() {
  const [creating, setCreating] = useState(false);
  const list = useCursorList<Webhook>({
    key: ["webhooks"],
    load: async (cursor, signal) => {
      const { data, nextCursor } = await parley.webhooks.list({ limit: 50, ...(cursor && { cursor }) }, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs: 10_000,
  });
  return (
    <PageFrame
      title="Webhooks"
      actions={
        <Button tone="primary" onClick={() => setCreating(true)}>
          New webhook
        </Button>
      }
    >
      <ListView
        list={list}
        caption="Webhooks"
        columns={columns}
        rowKey={({ id }) => id}
        empty="There is no webhook. One tells your server when a turn has ended, or when something waits for a person."
      />
      <Dialog title="New webhook" open={creating} onOpenChange={setCreating}>
        <NewWebhook onDone={() => setCreating(false)} />
      </Dialog>
    </PageFrame>
  );
}

function NewWebhook({ onDone }: { onDone(): void }) {
  const [secret, setSecret] = useState<string | null>(null);
  const form = useApiForm<WebhookForm>(formOfWebhook(null), async (values) => {
    const made = await parley.webhooks.create(webhookOfForm(values));
    setSecret(made.secret);
    await queryClient.invalidateQueries({ queryKey: ["webhooks"] });
  });
  if (secret !== null) return <WebhookSecret secret={secret} onDone={onDone} />;
  return (
    <ApiForm form={form} action="Create">
      <WebhookControls form={form} />
    </ApiForm>
  );
}
