import { Button } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";

/** A webhook's secret, which the service never shows again. */
export function WebhookSecret({ secret, onDone }: { readonly secret: string; onDone(): void }) {
  return (
    <>
      <p>Copy the secret now. It is not shown again. Your server checks with it that an event is from this service.</p>
      <p>
        <CopyableId id={secret} />
      </p>
      <footer>
        <Button tone="primary" onClick={onDone}>
          Done
        </Button>
      </footer>
    </>
  );
}
