import { useQuery } from "@tanstack/react-query";
import type { Webhook, WebhookDelivery } from "parley/client";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { ConfirmButton } from "../parts/dialog.tsx";
import { countOf } from "../parts/moment.ts";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { attemptText, newestAttempt } from "./webhook-words.ts";

/** Deliveries that are counted and sent again at once. */
const countedMax = 100;
const refreshMs = 5_000;

/** What waits for a webhook that fails; undefined while that is not known. */
function useWaiting(webhookId: string) {
  const pending = useQuery({
    queryKey: ["webhook-deliveries", webhookId, "pending", "counted"],
    queryFn: ({ signal }) =>
      parley.webhookDeliveries.list(webhookId, { status: "pending", limit: countedMax }, { signal }),
    refetchInterval: refreshMs,
  });
  return pending.data === undefined ? undefined : { rows: pending.data.data, isMore: pending.data.nextCursor !== null };
}

/** Since when a webhook fails, by what, how much waits for it, and when it is tried next. */
export function FailingFacts({ webhook: { id, failingSince } }: { readonly webhook: Webhook }) {
  const waiting = useWaiting(id);
  const last = newestAttempt(waiting?.rows ?? []);
  return (
    <>
      failing since <When at={failingSince} />
      {last !== undefined && `: ${attemptText(last)}`}
      {waiting !== undefined && (
        <>
          , <NextProbe rows={waiting.rows} />
          {waiting.isMore && "more than "}
          {waiting.rows.length} {waiting.rows.length === 1 && !waiting.isMore ? "waits" : "wait"}
        </>
      )}
    </>
  );
}

/** A webhook that fails gets one attempt at a time: the first that is due. */
function NextProbe({ rows }: { readonly rows: readonly WebhookDelivery[] }) {
  const at = rows
    .map(({ nextAttemptAt }) => nextAttemptAt)
    .filter((each) => each !== null)
    .toSorted()[0];
  if (at === undefined) return null;
  return (
    <>
      next probe <When at={at} />,{" "}
    </>
  );
}

/** Says that nothing arrives at a webhook, and why, and sends what waits again. */
export function Failing({ webhook }: { readonly webhook: Webhook }) {
  const rows = useWaiting(webhook.id)?.rows ?? [];
  async function retryAll(): Promise<void> {
    for (const { id } of rows) await parley.webhookDeliveries.retry(webhook.id, id);
    await queryClient.invalidateQueries({ queryKey: ["webhook-deliveries", webhook.id] });
    await queryClient.invalidateQueries({ queryKey: ["webhook", webhook.id] });
    toast(`${countOf(rows.length, "delivery", "deliveries")} sent again.`);
  }
  return (
    <section className="failure-box" aria-label="Failing">
      <p>
        <FailingFacts webhook={webhook} />
      </p>
      {rows.length > 0 && (
        <ConfirmButton label="Retry all" tone="plain" title="Send what waits now?" onConfirm={retryAll}>
          <p>{countOf(rows.length, "delivery is", "deliveries are")} sent, one after the other.</p>
        </ConfirmButton>
      )}
    </section>
  );
}
