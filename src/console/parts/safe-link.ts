/** Whether a link of a model may lead there. */
export function isSafeLink(href: string): boolean {
  try {
    return /^(https?|mailto):$/.test(new URL(href).protocol);
  } catch {
    return false;
  }
}
