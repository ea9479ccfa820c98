import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { CopyableId } from "./copyable-id.tsx";

interface ShownOnceProps {
  readonly secret: string;
  onDone(): void;
  /** What the secret is for, and that it has to be copied now. */
  readonly children: ReactNode;
}

/** A secret that the service never shows again. */
export function ShownOnce({ secret, onDone, children }: ShownOnceProps) {
  return (
    <>
      <p>{children}</p>
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
