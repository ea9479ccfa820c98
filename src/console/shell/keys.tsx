import { lazy, Suspense, useState } from "react";
import { useLocation } from "wouter";
import { useShortcuts } from "../parts/shortcuts.ts";
import type { Screen } from "../screens.ts";

/** Loaded when it is first asked for: dialogs are a seventh of what a page loads otherwise. */
const KeysDialog = lazy(() => import("./keys-dialog.tsx"));

/** The keys that lead to screens, and `?`, which shows all keys of the page. */
export function Keys({ screens }: { readonly screens: readonly Screen[] }) {
  const [open, setOpen] = useState(false);
  const [wasOpen, setWasOpen] = useState(false);
  const [, navigate] = useLocation();
  function show(): void {
    setWasOpen(true);
    setOpen(true);
  }
  useShortcuts([
    { keys: "?", does: "Show the keys of this page", act: show },
    ...screens.map(({ name, path, keys }) => ({ keys, does: `Go to ${name}`, act: () => navigate(path) })),
  ]);
  return <Suspense>{wasOpen && <KeysDialog open={open} onOpenChange={setOpen} />}</Suspense>;
}
