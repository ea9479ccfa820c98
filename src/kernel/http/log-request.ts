import type { Logger } from "../telemetry/log.ts";
import { codeOf, isRead, requestIdOf, routeOf } from "./request.ts";

/** What is known of a request when its response is ready. */
interface ServedRequest {
  readonly request: Request;
  readonly status: number;
  readonly tenantId: string | null;
  /** When the request came, by `performance.now()`. */
  readonly startedAtMs: number;
}

/**
 * Writes the one line that each request leaves in the log (docs/watching.md, "Logs"), with its
 * route and not its path. A read that succeeded, such as a monitor's, is `debug`.
 */
export function logRequest(log: Logger, { request, status, tenantId, startedAtMs }: ServedRequest): void {
  const isQuiet = isRead(request) && status < 300;
  if (isQuiet && !log.isLevelEnabled("debug")) return;
  const line = {
    requestId: requestIdOf(request),
    ...(tenantId === null ? {} : { tenantId }),
    method: request.method,
    route: routeOf(request),
    status,
    ...(status < 400 ? {} : { code: codeOf(request) }),
    ms: Math.round(performance.now() - startedAtMs),
  };
  if (isQuiet) log.debug(line, "request");
  else log.info(line, "request");
}
