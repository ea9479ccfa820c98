import { useQuery } from "@tanstack/react-query";
import type { TurnDetails } from "parley/client";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useProviders } from "../api/providers.ts";
import { useMay } from "../api/role.ts";
import { CopyableId } from "../parts/copyable-id.tsx";
import { adviceOn } from "./failure-advice.ts";
import { RunAgain } from "./run-again.tsx";

interface FailureBoxProps {
  readonly turn: Pick<TurnDetails, "id" | "agentId" | "sessionId" | "status" | "error">;
  onRunAgain(turnId: string | null): void;
}

/** Pages that only an admin has. */
const forAdmins = /^\/(budgets|billing)/;

/** Why a turn failed: what the vendor said, what to do about it, and a button that runs it again. A canceled one has the button alone. */
export function FailureBox({ turn, onRunAgain }: FailureBoxProps) {
  const { id, agentId, sessionId, status, error } = turn;
  const mayPay = useMay("admin");
  const vendor = error?.details?.vendor;
  const advice = error && adviceOn({ code: error.code, agentId, budgetId: error.details?.budgetId, vendor });
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
      {advice && (
        <p>
          {advice.text}{" "}
          {advice.link && (mayPay || !forAdmins.test(advice.link.to)) && (
            <Link href={advice.link.to}>{advice.link.title}</Link>
          )}
        </p>
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
  const facts = [vendor.status === null ? "no answer" : `status ${vendor.status}`, vendor.code, vendor.model];
  return (
    <figure className="vendor-words">
      <figcaption>
        <Link href={`/providers/${vendor.providerId}`}>{provider?.name ?? vendor.providerId}</Link> said (
        {facts.filter((fact) => fact !== null).join(", ")}):
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
