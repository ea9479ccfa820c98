import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { type ReactNode, useRef, useState } from "react";
import { errorText } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import type { ConsoleRole } from "../api/session.ts";
import { Button, type ButtonTone, IconButton } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  readonly open: boolean;
  onOpenChange(open: boolean): void;
  readonly children: ReactNode;
}

/** Something to read or fill in, over the page. Escape closes it, and the focus goes back. */
export function Dialog({ title, open, onOpenChange, children }: DialogProps) {
  const wasOpen = useRef(false);
  const before = useRef<Element | null>(null);
  if (open && !wasOpen.current) before.current = document.activeElement;
  wasOpen.current = open;
  // By itself the focus would go on from what Tab passes over, such as the page, to the first field in it, which takes the keys of the page.
  const focusAgain = () => {
    if (!(before.current instanceof HTMLElement && before.current.isConnected)) return true;
    before.current.focus({ preventScroll: true });
    return false;
  };
  return (
    <BaseDialog.Root open={open} onOpenChange={(next) => onOpenChange(next)}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="backdrop" />
        <BaseDialog.Popup className="dialog" finalFocus={focusAgain}>
          <header>
            <BaseDialog.Title>{title}</BaseDialog.Title>
            <BaseDialog.Close render={<IconButton label="Close" icon="close" />} />
          </header>
          {children}
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

interface ConfirmProps {
  /** The button's name, and that of the one in the dialog. */
  readonly label: string;
  readonly title: string;
  /** What will happen, and whether it can be undone. */
  readonly children: ReactNode;
  readonly tone?: ButtonTone;
  readonly disabled?: boolean;
  /** The least role that is offered it; an editor where it is left out. */
  readonly needs?: ConsoleRole;
  /** Done when the person confirms; the dialog closes after it, or says what went wrong. */
  onConfirm(): Promise<unknown>;
}

/** A button for what cannot be undone: it asks first. */
export function ConfirmButton(props: ConfirmProps) {
  return useMay(props.needs ?? "editor") ? <OfferedConfirm {...props} /> : null;
}

function OfferedConfirm({ label, title, children, tone = "danger", disabled = false, onConfirm }: ConfirmProps) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  async function confirm(): Promise<void> {
    setBusy(true);
    setFault(null);
    try {
      await onConfirm();
      setOpen(false);
    } catch (error) {
      setFault(errorText(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <AlertDialog.Root open={open} onOpenChange={(next) => setOpen(next)}>
      <AlertDialog.Trigger disabled={disabled} render={<Button tone={tone} />}>
        {label}
      </AlertDialog.Trigger>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <header>
            <AlertDialog.Title>{title}</AlertDialog.Title>
          </header>
          <AlertDialog.Description render={<div />}>{children}</AlertDialog.Description>
          {fault !== null && <p role="alert">{fault}</p>}
          <footer>
            <AlertDialog.Close render={<Button />}>Back</AlertDialog.Close>
            <Button tone={tone} disabled={busy} onClick={() => void confirm()}>
              {label}
            </Button>
          </footer>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
