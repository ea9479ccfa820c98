import type { ReactNode } from "react";
import { type BadgeTone, toneOf } from "./tone.ts";

/** A small word on a color. */
export function Badge({ tone = "neutral", children }: { readonly tone?: BadgeTone; readonly children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

/** The status of a resource, as the API spells it, or in other words. */
export function StatusBadge({ status, text }: { readonly status: string; readonly text?: string }) {
  return (
    <Badge tone={toneOf(status)}>
      <i className="dot" aria-hidden="true" />
      {text ?? status.replaceAll("_", " ")}
    </Badge>
  );
}
