import type { ReactNode } from "react";
import { errorText } from "../api/queries.ts";
import { Button } from "./button.tsx";

/** Stands where something is being read. It appears after 200 ms, so that what is quick does not flicker. */
export function Loading({ what = "Loading" }: { readonly what?: string }) {
  return (
    <p className="loading" role="status">
      {what}…
    </p>
  );
}

/** Says what went wrong, and tries again. */
export function LoadFailure({ error, retry }: { readonly error: unknown; readonly retry?: (() => void) | undefined }) {
  return (
    <div className="failure" role="alert">
      <p>{errorText(error)}</p>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** Stands where a list has no rows, with what to do about it. */
export function Empty({ children }: { readonly children: ReactNode }) {
  return <div className="empty">{children}</div>;
}

/** What a query of one thing needs to be shown. */
interface Loaded<Data> {
  readonly data: Data | undefined;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

/** What was read, or why there is nothing yet. What is there stays while reading it again fails. */
export function Await<Data>({ query, children }: { query: Loaded<Data>; children: (data: Data) => ReactNode }) {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) return <LoadFailure error={query.error} retry={() => void query.refetch()} />;
  return <Loading />;
}
