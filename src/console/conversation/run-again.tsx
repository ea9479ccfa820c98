import { useState } from "react";
import { parley } from "../api/client.ts";
import { useMay } from "../api/role.ts";
import { Button } from "../parts/button.tsx";
import { toast, toastError } from "../parts/toasts.tsx";

interface RunAgainProps {
  readonly turnId: string;
  /** Called with the new turn, when the service has taken it. */
  onBegun(turnId: string | null): void;
}

/** Asks once more what a failed or canceled turn asked, for who may. */
export function RunAgain(props: RunAgainProps) {
  return useMay("runner") ? <OfferedRunAgain {...props} /> : null;
}

function OfferedRunAgain({ turnId, onBegun }: RunAgainProps) {
  const [busy, setBusy] = useState(false);
  async function run(): Promise<void> {
    setBusy(true);
    try {
      // Who stops reading leaves the turn running: its page follows it.
      const { turnId: begun, response } = await parley.turns.retry(turnId, { stream: true });
      void response.body?.cancel().catch(() => {});
      toast("It runs again.");
      onBegun(begun);
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Button icon="again" disabled={busy} onClick={() => void run()}>
      Run again
    </Button>
  );
}
