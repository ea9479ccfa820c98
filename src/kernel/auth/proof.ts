/**
 * Whether it is known that a principal's credential is good. `in statement`: its API key was recalled and not looked up,
 * so the statement that does what was asked looks it up as well (`keyStands`). Until one has, nothing may be done or told for the principal.
 */
export type Proof = "known" | "in statement";

/** The credential has to be looked up before anything else is done: the request begins anew (`operation`). */
export class ProofNeededError extends Error {
  override readonly name = "ProofNeededError";
}

/** The part of a principal that is about this. */
interface Proven {
  proof: Proof;
}

/** Returns whether the credential of a principal is known to be good. */
export function isProven({ proof }: Proven): boolean {
  return proof === "known";
}

/** Throws `ProofNeededError` where the credential was not looked up: what comes next has no statement that does. */
export function requireProof(principal: Proven): void {
  if (!isProven(principal)) throw new ProofNeededError("The credential of the request has to be looked up.");
}

/** Notes that a statement has found the principal's key good. */
export function noteProof(principal: Proven): void {
  principal.proof = "known";
}
