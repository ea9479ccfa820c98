import { Link } from "wouter";
import { userPath } from "./user-path.ts";

/** An end user, with the way to their page; nothing for the tenant's own. */
export function UserLink({ userId }: { readonly userId: string }) {
  if (userId === "") return <span className="faint">–</span>;
  return <Link href={userPath(userId)}>{userId}</Link>;
}
