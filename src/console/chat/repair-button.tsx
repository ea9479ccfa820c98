import type { ChatDelivery } from "parley/client";
import { useState } from "react";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { CheckField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { toast } from "../parts/toasts.tsx";
import { repairText } from "./chat-words.ts";

interface RepairProps {
  readonly delivery: ChatDelivery;
  readonly connectionId: string;
}

/** Posts what a delivery has not posted, after a person has confirmed the two things that only a person can know. */
export function RepairButton({ delivery, connectionId }: RepairProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      {useMay("editor") && <Button onClick={() => setOpen(true)}>Repair</Button>}
      <Dialog title="Repair this delivery?" open={open} onOpenChange={setOpen}>
        <RepairForm delivery={delivery} connectionId={connectionId} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function RepairForm({ delivery, connectionId, onDone }: RepairProps & { onDone(): void }) {
  const unconfirmed = { previousSenderStopped: false, acceptDuplicateRisk: false };
  const form = useApiForm(unconfirmed, async () => {
    await parley.chatDeliveries.repair(connectionId, delivery.id, {
      ...{ expectedAttempt: delivery.attempt, previousSenderStopped: true, acceptDuplicateRisk: true },
    });
    onDone();
    toast("What it has not posted yet is sent now.");
    await queryClient.invalidateQueries({ queryKey: ["chat-deliveries"] });
  });
  const { previousSenderStopped, acceptDuplicateRisk } = form.values;
  return (
    <ApiForm
      form={form}
      action="Repair"
      disabled={!previousSenderStopped || !acceptDuplicateRisk}
      beside={<Button onClick={onDone}>Back</Button>}
    >
      <p>{repairText(delivery)}</p>
      {delivery.diagnostic !== null && <p className="error-text">{delivery.diagnostic}</p>}
      <CheckField
        form={form}
        name="previousSenderStopped"
        label="Nothing sends it any more"
        hint="The worker that tried to is gone, or has given up."
      />
      <CheckField
        form={form}
        name="acceptDuplicateRisk"
        label="It may be posted twice"
        hint="People may see the same message again."
      />
    </ApiForm>
  );
}
