import { useQuery } from "@tanstack/react-query";
import type { Budget } from "parley/client";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { readStoppedAnew } from "../api/stopped-users.ts";
import { ConfirmButton } from "../parts/dialog.tsx";
import { countOf } from "../parts/moment.ts";
import { toast } from "../parts/toasts.tsx";

/** Stops an end user who uses too much: what runs ends, and for an admin a budget of no turn lets nothing begin until it is taken back. */
export function StopUser({ userId }: { readonly userId: string }) {
  return useMay("admin") ? <StopForGood userId={userId} /> : <EndTurns userId={userId} />;
}

function StopForGood({ userId }: { readonly userId: string }) {
  const budgets = useQuery({
    queryKey: ["budgets", "that-stop"],
    queryFn: ({ signal }) => parley.budgets.list({ limit: 100 }, { signal }),
  });
  const stops = budgets.data?.data.filter((budget) => isStop(budget, userId)) ?? [];
  async function stop(): Promise<void> {
    const body = { userId, each: "tenant", period: "ever", limit: { turns: 0 } } as const;
    await parley.budgets.create({ ...body, name: `Stops ${userId}`.slice(0, 80) });
    const { canceled } = await parley.turns.cancel({ userId });
    await readAnew();
    toast(`The user is stopped; ${countOf(canceled, "turn")} ended.`);
  }
  async function letGoOn(): Promise<void> {
    for (const { id } of stops) await parley.budgets.delete(id);
    await readAnew();
    toast("The user may go on.");
  }
  // Each with its own key: the open dialog of one would else become that of the other while it closes.
  if (stops.length > 0)
    return (
      <ConfirmButton
        key="resume"
        label="Resume user"
        needs="admin"
        tone="plain"
        title="Resume this user?"
        onConfirm={letGoOn}
      >
        <p>The budget that lets no turn of theirs begin is deleted.</p>
      </ConfirmButton>
    );
  return (
    <ConfirmButton key="stop" label="Stop user" needs="admin" title="Stop this user?" onConfirm={stop}>
      <p>
        What they have queued, running and waiting ends, and a budget of 0 turns lets nothing else of theirs begin until
        it is taken back here or under Budgets.
      </p>
    </ConfirmButton>
  );
}

async function readAnew(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ["budgets"] });
  await readStoppedAnew();
}

/** Whether a budget lets nothing of a user begin. */
function isStop({ userId, agentId, enabled, limit }: Budget, stopped: string): boolean {
  const amount = limit.turns ?? limit.tokens ?? limit.usd;
  return userId === stopped && agentId === null && enabled && Number(amount) === 0;
}

function EndTurns({ userId }: { readonly userId: string }) {
  async function end(): Promise<void> {
    const { canceled } = await parley.turns.cancel({ userId });
    await queryClient.invalidateQueries({ queryKey: ["turns"] });
    toast(`${countOf(canceled, "turn")} ended.`);
  }
  return (
    <ConfirmButton label="End turns" needs="runner" title="End all turns of this user?" onConfirm={end}>
      <p>What is queued, running and waiting ends now. Nothing that it said is kept.</p>
    </ConfirmButton>
  );
}
