import { lazy, Suspense, useEffect, useState } from "react";
import type { Screen } from "../screens.ts";

/** Loaded when it is first asked for, as all dialogs are. */
const PaletteDialog = lazy(() => import("./palette-dialog.tsx"));

/** What Ctrl+K, or ⌘K, opens: a field that leads anywhere. */
export function Palette({ screens }: { readonly screens: readonly Screen[] }) {
  const [open, setOpen] = useState(false);
  const [wasOpen, setWasOpen] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      setWasOpen(true);
      setOpen((before) => !before);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  return <Suspense>{wasOpen && <PaletteDialog open={open} onOpenChange={setOpen} screens={screens} />}</Suspense>;
}
