import { useState } from "react";
import { useLocation } from "wouter";
import { Dialog } from "../parts/dialog.tsx";
import { activeShortcuts, useShortcuts } from "../parts/shortcuts.ts";
import type { Screen } from "../screens.ts";

/** The keys that lead to screens, and `?`, which shows all keys of the page. */
export function Keys({ screens }: { readonly screens: readonly Screen[] }) {
  const [open, setOpen] = useState(false);
  const [, navigate] = useLocation();
  useShortcuts([
    { keys: "?", does: "Show the keys of this page", act: () => setOpen(true) },
    ...screens.map(({ name, path, keys }) => ({ keys, does: `Go to ${name}`, act: () => navigate(path) })),
  ]);
  return (
    <Dialog title="Keys" open={open} onOpenChange={setOpen}>
      <dl className="keys">
        {open &&
          activeShortcuts().map(({ keys, does }) => (
            <div key={keys + does}>
              <dt>
                {[...keys].map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
      </dl>
    </Dialog>
  );
}
