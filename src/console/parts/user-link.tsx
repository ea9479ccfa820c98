import { Link } from "wouter";
import { useIsStopped } from "../api/stopped-users.ts";
import { Badge } from "./badge.tsx";
import { userPath } from "./user-path.ts";

/** An end user, with the way to their page, and a mark where they are stopped; nothing for the tenant's own. */
export function UserLink({ userId }: { readonly userId: string }) {
  if (userId === "") return <span className="faint">–</span>;
  return (
    <>
      <Link href={userPath(userId)} title={userId}>
        {userId}
      </Link>{" "}
      <StoppedMark userId={userId} />
    </>
  );
}

/** Says that no turn of an end user may begin; nothing where they may go on. */
export function StoppedMark({ userId }: { readonly userId: string }) {
  return useIsStopped(userId) ? <Badge tone="bad">stopped</Badge> : null;
}
