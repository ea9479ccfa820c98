import { useEffect, useState, useSyncExternalStore } from "react";
import { exactText, sinceText } from "./moment.ts";

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for all times of a page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 10_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

interface WhenProps {
  readonly at: string | null | undefined;
  /** Whether the exact time stands below, as on the page of one thing. */
  readonly isExact?: boolean;
}

/** A moment: how long ago, and the exact time of the reader's zone where the pointer rests. Nothing for null. */
export function When({ at, isExact = false }: WhenProps) {
  const current = useSyncExternalStore(subscribe, () => now);
  const [mounted, setMounted] = useState(now);
  useEffect(() => setMounted(Date.now()), []);
  if (!at) return <span className="faint">–</span>;
  return (
    <time dateTime={at} title={exactText(at)}>
      {sinceText(at, Math.max(current, mounted))}
      {isExact && <span className="block faint">{exactText(at)}</span>}
    </time>
  );
}
