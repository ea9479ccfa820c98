import { useSyncExternalStore } from "react";
import { errorText } from "../api/queries.ts";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "plain" | "bad";
}

/** So long a message stays, in ms; a failure stays twice as long. */
const shownMs = 5000;
const toastsMax = 4;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

/** Tells that something was done. */
export function toast(text: string, tone: Toast["tone"] = "plain"): void {
  lastId += 1;
  const added = { id: lastId, text, tone };
  change([...toasts, added].slice(-toastsMax));
  setTimeout(() => change(toasts.filter(({ id }) => id !== added.id)), tone === "bad" ? 2 * shownMs : shownMs);
}

/** Tells that something did not work, and why. */
export function toastError(error: unknown): void {
  toast(errorText(error), "bad");
}

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Where the messages appear; screen readers hear them. */
export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="status">
      {shown.map(({ id, text, tone }) => (
        <p key={id} className={tone}>
          {text}
        </p>
      ))}
    </div>
  );
}
