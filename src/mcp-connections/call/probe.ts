import type { Ctx } from "../../kernel/context.ts";
import type { Authorization } from "../auth/authorization.ts";
import { validateTimeoutMs } from "../limits.ts";
import { failureOf } from "../wire/failure.ts";
import { serverFetch } from "../wire/fetches.ts";
import { McpSession, type ToolList } from "./session.ts";

/** What a probe learned of a server. */
export interface ServerProbe {
  readonly server: { readonly name: string; readonly version: string };
  readonly list: ToolList;
  /** The revision of the protocol that it speaks: a date. */
  readonly protocolVersion: string;
}

/** Opens a session with a server, lists the tools and closes the session. Throws `McpFailure`. */
export async function probeServer(
  ctx: Ctx,
  url: string,
  authorization: Authorization,
  signal: AbortSignal = AbortSignal.timeout(validateTimeoutMs),
): Promise<ServerProbe> {
  const target = { url, send: serverFetch(ctx, null), authorization, protocolVersion: null };
  try {
    const session = await McpSession.open(target, signal);
    try {
      const list = await orAbort(session.list(), signal);
      return { server: session.server, list, protocolVersion: session.protocolVersion };
    } finally {
      void session.close();
    }
  } catch (error) {
    throw failureOf(error);
  }
}

function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
