import type { DecidedCall } from "../../console-shapes/words.ts";
import { useDecision } from "../api/decisions.ts";
import { When } from "../parts/when.tsx";

interface DecidedByProps {
  readonly approvalId: string;
  readonly isApproved: boolean;
  readonly reason: string | undefined;
}

/** Who approved or denied a call, when, and why. */
export function DecidedBy({ approvalId, isApproved, reason }: DecidedByProps) {
  const decision = useDecision(approvalId);
  return (
    <p className="hint">
      {isApproved ? "Approved" : "Denied"}
      {decision && (
        <>
          {byText(decision)}, <When at={decision.at} />
        </>
      )}
      {reason ? `. Reason: ${reason}` : "."}
    </p>
  );
}

/** The actors that are no persons and no keys, in words. */
const others: { readonly [type: string]: string } = {
  system: " by nobody in time",
  operator: " by the operator",
};

function byText({ byType, byName }: DecidedCall): string {
  return others[byType ?? ""] ?? (byName === null ? "" : ` by ${byName}`);
}
