import { QueryClient } from "@tanstack/react-query";
import { ParleyError } from "parley/client";

/** What the pages have read. It is read again when it is older than 5 s and looked at. */
export const queryClient = new QueryClient({
  defaultOptions: {
    // A browser without a network is told to be offline, and reaches this service all the same.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 5_000,
      retry: (failures, error) => failures < 3 && isPassing(error),
      retryDelay: (failures, error) =>
        error instanceof ParleyError && error.retryAfterSeconds !== null
          ? Math.min(error.retryAfterSeconds, 30) * 1000
          : 500 * 2 ** failures,
    },
  },
});

/** Whether asking again may help: nothing came, or the service was busy. */
function isPassing(error: unknown): boolean {
  return !(error instanceof ParleyError) || error.status === 429 || error.status >= 502;
}

/** Whether the operator has suspended the tenant. */
export function isSuspended(error: unknown): boolean {
  return error instanceof ParleyError && error.code === "subscription_required";
}

/** What to tell a person of an error. */
export function errorText(error: unknown): string {
  if (isSuspended(error)) return "This tenant is suspended, until the operator lets it go on.";
  if (error instanceof ParleyError) return rangeText(error) ?? error.message;
  if (error instanceof TypeError) return "The service cannot be reached.";
  return error instanceof Error ? error.message : String(error);
}

/** What to tell a person of a time that was refused, which the service says of fields that no page has; null: it was not that. */
function rangeText({ details, message }: ParleyError): string | null {
  const isOfTime = details?.issues?.some(({ path }) => path === "from" || path === "to") ?? false;
  const days = /\b\d+ days\b/.exec(message)?.[0];
  return isOfTime && days !== undefined ? `At most ${days} can be shown.` : null;
}
