import type { JobName } from "../queue/catalogue.ts";
import { httpRequests, jobs } from "../telemetry/metrics.ts";
import { inSpan, type SpanFields } from "../telemetry/trace.ts";
import { requestIdOf, routeOf } from "./request.ts";

/** Methods that are told apart; a client may send any word. */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** What monitors ask every few seconds makes no traces. */
const untracedPath = /\/(healthz|readyz|metrics)$/;

/** Answers a request while counting and tracing it. Its end is the response's headers: a stream lasts as long as its turn. */
export function observeRequest(request: Request, answer: () => Promise<Response>): Promise<Response> {
  const startedAtMs = performance.now();
  const method = methods.has(request.method) ? request.method : "other";
  return inSpan(
    method,
    () => requestSpan(request, method),
    async (span) => {
      const response = await answer();
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
  if (untracedPath.test(new URL(request.url).pathname)) return null;
  return {
    kind: "server",
    parent: request.headers.get("traceparent"),
    attributes: { "http.request.method": method, "parley.request.id": requestIdOf(request) },
  };
}

/** Runs a job while counting it. A turn's job has a span of its own, once the turn is claimed. */
export async function observeJob(task: JobName, work: () => Promise<void>): Promise<void> {
  const startedAtMs = performance.now();
  const count = (result: string) => jobs.observe({ task, result }, (performance.now() - startedAtMs) / 1000);
  const span = (): SpanFields | null =>
    task === "turn" ? null : { kind: "consumer", attributes: { "parley.task": task } };
  try {
    await inSpan(`job ${task}`, span, work);
    count("done");
  } catch (error) {
    count("failed");
    throw error;
  }
}
