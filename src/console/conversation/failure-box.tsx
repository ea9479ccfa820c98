import { useQuery } from "@tanstack/react-query";
import type { TurnDetails } from "parley/client";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useProviders } from "../api/providers.ts";
import { CopyableId } from "../parts/copyable-id.tsx";
import { AdviceLine } from "./advice-line.tsx";
import { RunAgain } from "./run-again.tsx";

interface FailureBoxProps {
  readonly turn: Pick<TurnDetails, "id" | "agentId" | "sessionId" | "status" | "error">;
  onRunAgain(turnId: string | null): void;
}

/** Why a turn failed: what the vendor said, what to do about it, and a button that runs it again. A canceled one has the button alone. */
export function FailureBox({ turn, onRunAgain }: FailureBoxProps) {
  const { id, agentId, sessionId, status, error } = turn;
  const vendor = error?.details?.vendor;
  return (
    <section className={status === "failed" ? "failure-box" : "failure-box calm"} aria-label="Why it ended">
      {error === null ? (
        <p>Somebody canceled it.</p>
      ) : (
        <p>
          <strong>{error.code}</strong> {error.message}
        </p>
      )}
      {vendor !== undefined && <VendorWords vendor={vendor} />}
      {error !== null && (
        <AdviceLine failure={{ code: error.code, agentId, budgetId: error.details?.budgetId, vendor }} />
      )}
      {sessionId !== null && <RunAgain turnId={id} onBegun={onRunAgain} />}
    </section>
  );
}

/** What a vendor's server said, word for word. */
function VendorWords({
  vendor,
}: {
  readonly vendor: NonNullable<NonNullable<TurnDetails["error"]>["details"]>["vendor"] & object;
}) {
  const provider = useProviders().data?.providers.find(({ id }) => id === vendor.providerId);
  const link = <Link href={`/providers/${vendor.providerId}`}>{provider?.name ?? vendor.providerId}</Link>;
  if (vendor.status === null)
    return (
      <p>
        {link} gave no answer ({[vendor.code, vendor.model].filter((fact) => fact !== null).join(", ")}).
      </p>
    );
  const facts = [`status ${vendor.status}`, vendor.code, vendor.model];
  return (
    <figure className="vendor-words">
      <figcaption>
        {link} said ({facts.filter((fact) => fact !== null).join(", ")}):
      </figcaption>
      <blockquote dir="auto">{vendor.message || "Nothing that can be shown."}</blockquote>
      {vendor.requestId !== null && (
        <p className="faint">
          The vendor's request: <CopyableId id={vendor.requestId} />
        </p>
      )}
    </figure>
  );
}

/** The same of a turn of which only the id is known. */
export function FailureBoxOf({
  turnId,
  onRunAgain,
}: {
  readonly turnId: string;
  onRunAgain(turnId: string | null): void;
}) {
  const turn = useQuery({
    queryKey: ["turn", turnId],
    queryFn: ({ signal }) => parley.turns.get(turnId, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return turn.data === undefined ? null : <FailureBox turn={turn.data} onRunAgain={onRunAgain} />;
}
