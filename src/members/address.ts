/**
 * Returns an address as it is compared with others: without case. A character that is no ASCII is never taken for one
 * that is, as the Kelvin sign would be for a `k`: the owner of the one address need not own the other.
 */
export function addressKey(email: string): string {
  return [...email].map(withoutCase).join("");
}

function withoutCase(character: string): string {
  const lower = character.toLowerCase();
  return isAscii(character) || ![...lower].some(isAscii) ? lower : character;
}

function isAscii(character: string): boolean {
  return (character.codePointAt(0) ?? 0) < 128;
}
