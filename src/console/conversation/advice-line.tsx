import { Link } from "wouter";
import { useMay } from "../api/role.ts";
import { type Advice, adviceOn, type KnownFailure } from "./failure-advice.ts";

/** Pages that only an admin has. */
const forAdmins = /^\/(budgets|billing)/;

/** What to do about a failure, with the way to where that is done; nothing where nothing is known that helps. */
export function AdviceLine({ failure }: { readonly failure: KnownFailure }) {
  const mayPay = useMay("admin");
  const advice: Advice | null = adviceOn(failure);
  if (advice === null) return null;
  const { text, link } = advice;
  return (
    <p>
      {text} {link && (mayPay || !forAdmins.test(link.to)) && <Link href={link.to}>{link.title}</Link>}
    </p>
  );
}
