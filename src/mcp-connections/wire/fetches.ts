import type { Ctx } from "../../kernel/context.ts";
import { type Fetch, tenantFetch } from "../../kernel/outbound/fetch.ts";
import { grantTimeoutMs, oauthResponseBytesMax, responseBytesMax, streamBytesMax } from "../limits.ts";
import { boundedFetch } from "./bounded-fetch.ts";

/** Returns the fetch for MCP servers; its requests count to the tenant's share. */
export function serverFetch({ config }: Pick<Ctx, "config">, tenantId: string | null): Fetch {
  return boundedFetch(tenantFetch(config, tenantId), {
    allowPrivate: config.allowPrivateNetwork,
    bytesMax: responseBytesMax,
    streamBytesMax,
  });
}

/** Returns the fetch for authorization servers; each request has its own time limit, and all end with `signal`. They are few and short, so they count to no share. */
export function oauthFetch({ config }: Pick<Ctx, "config">, signal?: AbortSignal): Fetch {
  const send = boundedFetch(tenantFetch(config, null), {
    allowPrivate: config.allowPrivateNetwork,
    bytesMax: oauthResponseBytesMax,
  });
  return (input, init) => {
    const limits = [AbortSignal.timeout(grantTimeoutMs), signal, init?.signal].filter((limit) => limit != null);
    return send(input, { ...init, signal: AbortSignal.any(limits) });
  };
}
