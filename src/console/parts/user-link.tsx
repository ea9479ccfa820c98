import { Link } from "wouter";

/** An end user, with the way to their page; nothing for the tenant's own. */
export function UserLink({ userId }: { readonly userId: string }) {
  if (userId === "") return <span className="faint">–</span>;
  return <Link href={userPath(userId)}>{userId}</Link>;
}

/** The address of an end user's page. Any text may be one's id, also one that a path does not take. */
export function userPath(userId: string): string {
  return `/users?id=${encodeURIComponent(userId)}`;
}
