import type { ReactNode } from "react";
import { StatusBadge } from "../parts/badge.tsx";
import { Icon } from "../parts/icon.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { type CallPart, callName, callStatus } from "./parts-of.ts";

interface CallViewProps {
  readonly part: CallPart;
  readonly open: boolean;
  /** What waits for a person. */
  readonly children?: ReactNode;
}

/** A tool call: its name and state, and unfolded what it was given and what it returned. */
export function CallView({ part, open, children }: CallViewProps) {
  const { text, status } = callStatus(part);
  const { input, output, errorText, approval } = part;
  return (
    // The key opens it anew when something begins to wait, and leaves what a person folded.
    <details className="call" open={open} key={String(open)}>
      <summary>
        <Icon name="tool" />
        <code>{callName(part)}</code>
        <StatusBadge status={status} text={text} />
      </summary>
      <div className="call-body">
        {input !== undefined && <JsonView label="Input" value={input} />}
        {output !== undefined && <JsonView label="Output" value={output} />}
        {errorText !== undefined && <JsonView label="Error" value={errorText} />}
        {approval?.reason && <p className="hint">Reason: {approval.reason}</p>}
        {children}
      </div>
    </details>
  );
}
