import { httpRequests } from "../telemetry/metrics.ts";
import { inSpan, type SpanFields } from "../telemetry/trace.ts";
import { workFor } from "../telemetry/work.ts";
import { isProbe, requestIdOf, routeOf } from "./request.ts";

/** Methods that have a label; a client may send any word. */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Counts and traces a request while `respond` makes its response, and returns that. It ends with the response's headers: a stream lasts as long as its turn. */
export function observeRequest(request: Request, respond: () => Promise<Response>): Promise<Response> {
  const startedAtMs = performance.now();
  const method = methods.has(request.method) ? request.method : "other";
  return inSpan(
    method,
    () => requestSpan(request, method),
    async (span) => {
      const response = await workFor({ requestId: requestIdOf(request) }, "request", respond);
      const route = routeOf(request);
      const status = `${Math.floor(response.status / 100)}xx`;
      httpRequests.observe({ method, route, status }, (performance.now() - startedAtMs) / 1000);
      const turnId = response.headers.get("x-turn-id");
      span.rename(`${method} ${route}`);
      span.set({
        "http.route": route,
        "http.response.status_code": response.status,
        ...(turnId === null ? {} : { "parley.turn.id": turnId }),
      });
      if (response.status >= 500) span.fail(String(response.status));
      return response;
    },
  );
}

function requestSpan(request: Request, method: string): SpanFields | null {
  if (isProbe(request)) return null;
  return {
    kind: "server",
    parent: request.headers.get("traceparent"),
    attributes: { "http.request.method": method, "parley.request.id": requestIdOf(request) },
  };
}
