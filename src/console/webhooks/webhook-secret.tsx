import { ShownOnce } from "../parts/shown-once.tsx";

/** A webhook's secret, with what it is for. */
export function WebhookSecret(props: { readonly secret: string; onDone(): void }) {
  return (
    <ShownOnce {...props}>
      Copy the secret now. It is not shown again. Your server checks with it that an event is from this service.
    </ShownOnce>
  );
}
