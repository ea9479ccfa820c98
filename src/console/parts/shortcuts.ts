import { useEffect, useRef } from "react";

/** A key, or two one after the other, and what they do. */
export interface Shortcut {
  readonly keys: string;
  readonly does: string;
  act(): void;
}

/** The second key of two has to come within this time. */
const secondKeyMs = 1000;
const active = new Set<{ current: readonly Shortcut[] }>();
let first = { key: "", at: 0 };

/** The shortcuts of what is on the page now. */
export function activeShortcuts(): readonly Shortcut[] {
  return [...active].flatMap(({ current }) => current);
}

/** Keys that work while this is on the page, outside fields and dialogs. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    active.add(latest);
    if (active.size === 1) document.addEventListener("keydown", onKeyDown);
    return () => {
      active.delete(latest);
      if (active.size === 0) document.removeEventListener("keydown", onKeyDown);
    };
  }, []);
}

/** The shortcut that this key completes, and the key that may begin another. */
export function matchShortcut<Named extends { readonly keys: string }>(
  shortcuts: readonly Named[],
  before: string,
  key: string,
): Named | undefined {
  return shortcuts.find(({ keys }) => keys === before + key) ?? shortcuts.find(({ keys }) => keys === key);
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1 || isTyping(event.target)) return;
  const before = event.timeStamp - first.at < secondKeyMs ? first.key : "";
  const found = matchShortcut(activeShortcuts(), before, event.key);
  first = found === undefined ? { key: event.key, at: event.timeStamp } : { key: "", at: 0 };
  if (found === undefined) return;
  event.preventDefault();
  found.act();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest("input, textarea, select, [role=dialog], [role=alertdialog]") !== null)
  );
}
