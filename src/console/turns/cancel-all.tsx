import type { TurnsCancel } from "parley/client";
import { useState } from "react";
import { parley } from "../api/client.ts";
import { errorText, queryClient } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { countText } from "../parts/moment.ts";
import { toast } from "../parts/toasts.tsx";
import { cancelOf, openStatuses, type TurnFilters } from "./turn-filters.ts";

/** This many matching turns are counted; of more it is only said that there are more. */
const countedMax = 1_000;
const pageRows = 200;

/** Cancels all turns that match the list's filters, after it has said how many these are. */
export function CancelAll({ filters }: { readonly filters: TurnFilters }) {
  const body = cancelOf(filters);
  const [matching, setMatching] = useState<number | null>(null);
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  async function attempt(work: () => Promise<void>): Promise<void> {
    setBusy(true);
    setFault(null);
    await work().catch((error: unknown) => setFault(errorText(error)));
    setBusy(false);
  }
  async function ask(): Promise<void> {
    setMatching(null);
    setOpen(true);
    await attempt(async () => setMatching(await countOpen(body ?? {})));
  }
  async function cancel(): Promise<void> {
    await attempt(async () => {
      const { canceled } = await parley.turns.cancel(body ?? {});
      setOpen(false);
      toast(`${countText(canceled)} ${canceled === 1 ? "turn is" : "turns are"} canceled.`);
      await queryClient.invalidateQueries({ queryKey: ["turns"] });
    });
  }
  const hint = "Filter by agent, session, user or a status that is not an end, and by nothing else.";
  return (
    <>
      <Button tone="danger" disabled={body === null} {...(body === null && { title: hint })} onClick={() => void ask()}>
        Cancel all
      </Button>
      <Dialog title="Cancel all that match?" open={open} onOpenChange={setOpen}>
        <p aria-live="polite">{matching === null ? (fault === null ? "Counting…" : "") : sentence(matching)}</p>
        {fault !== null && <p role="alert">{fault}</p>}
        <footer>
          <Button onClick={() => setOpen(false)}>Back</Button>
          <Button tone="danger" disabled={busy || !matching} onClick={() => void cancel()}>
            Cancel all
          </Button>
        </footer>
      </Dialog>
    </>
  );
}

function sentence(matching: number): string {
  if (matching === 0) return "No turn that matches is queued, running or waiting.";
  if (matching > countedMax) return `More than ${countText(countedMax)} turns end now. Nothing that they said is kept.`;
  return matching === 1
    ? "1 turn ends now. Nothing that it said is kept."
    : `${countText(matching)} turns end now. Nothing that they said is kept.`;
}

/** How many turns that have not ended match; counting stops beyond `countedMax`. */
async function countOpen({ status, ...query }: TurnsCancel): Promise<number> {
  let count = 0;
  for (const each of status === undefined ? openStatuses : [status]) {
    for await (const _turn of parley.turns.listAll({ ...query, status: each, limit: pageRows })) {
      count += 1;
      if (count > countedMax) return count;
    }
  }
  return count;
}
