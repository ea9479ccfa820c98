import type { Config } from "./config.ts";

/** A fetch function; the part of the web standard's that the vendors' clients use. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * The runtime's own fetch, for addresses that the operator or a vendor's client
 * chose. Bun would end a response that is quiet for five minutes, which a model
 * that thinks may well be; `timeout` lifts that and means nothing elsewhere.
 */
export const directFetch: Fetch = (input, init) => fetch(input, { ...init, timeout: false } as RequestInit);

/** The fetch for addresses that tenants supply (design section 3, "Private addresses"). */
export function tenantFetch(config: Pick<Config, "allowPrivateNetwork">): Fetch {
  if (config.allowPrivateNetwork) return directFetch;
  return () => Promise.reject(new Error("Public addresses cannot be reached yet."));
}
