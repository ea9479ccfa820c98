import type { ReactNode } from "react";

/** What a color says: running, fine, needs somebody, broken, or nothing. */
export type BadgeTone = "active" | "good" | "warn" | "bad" | "neutral";

const tones: { readonly [status: string]: BadgeTone } = {
  running: "active",
  streaming: "active",
  queued: "neutral",
  pending: "warn",
  waiting: "warn",
  succeeded: "good",
  active: "good",
  enabled: "good",
  connected: "good",
  confirmed: "good",
  delivered: "good",
  approved: "good",
  done: "good",
  ready: "good",
  failed: "bad",
  error: "bad",
  denied: "bad",
  dead: "bad",
  ambiguous: "warn",
  reauthorization_required: "warn",
  suspended: "bad",
};

/** A small word on a color. */
export function Badge({ tone = "neutral", children }: { readonly tone?: BadgeTone; readonly children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

/** The status of a resource, as the API spells it. */
export function StatusBadge({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? "neutral"}>{status.replaceAll("_", " ")}</Badge>;
}
