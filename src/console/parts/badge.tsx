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

/** The status of a resource, as the API spells it, or in other words. */
export function StatusBadge({ status, text }: { readonly status: string; readonly text?: string }) {
  return <Badge tone={toneOf(status)}>{text ?? status.replaceAll("_", " ")}</Badge>;
}

/** The tone of a status. */
export function toneOf(status: string): BadgeTone {
  return tones[status] ?? "neutral";
}
