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
  failing: "bad",
  error: "bad",
  denied: "bad",
  dead: "bad",
  ambiguous: "warn",
  reauthorization_required: "warn",
  suspended: "bad",
  working: "good",
  serving: "good",
  draining: "warn",
  silent: "bad",
  deleting: "warn",
  needs_auth: "warn",
  uncertain: "warn",
  unmapped: "warn",
  accepted: "good",
  expired: "bad",
};

/** The tone of a status. */
export function toneOf(status: string): BadgeTone {
  return tones[status] ?? "neutral";
}
