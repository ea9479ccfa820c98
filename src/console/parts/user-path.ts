/** The address of an end user's page. Any text may be one's id, also one that a path does not take. */
export function userPath(userId: string): string {
  return `/users?id=${encodeURIComponent(userId)}`;
}
