import { Link } from "wouter";
import { When } from "../parts/when.tsx";

interface TurnMomentProps {
  /** Null: it is gone. */
  readonly turnId: string | null;
  readonly at: string;
}

/** When something was said, which leads to its turn. */
export function TurnMoment({ turnId, at }: TurnMomentProps) {
  if (turnId === null)
    return (
      <span className="faint">
        <When at={at} />
      </span>
    );
  return (
    <Link href={`/turns/${turnId}`} className="faint">
      <When at={at} />
    </Link>
  );
}
