import { ConfigError } from "../kernel/config.ts";
import { ApiError } from "../kernel/errors.ts";
import { envelope } from "../kernel/http/error-envelope.ts";
import { logRequest } from "../kernel/http/log-request.ts";
import { mayScrape } from "../kernel/http/metrics-route.ts";
import { measureProcess, registry } from "../kernel/telemetry/metrics.ts";
import { sandboxApp } from "../workspaces/remote/app.ts";
import { measureSandboxes } from "../workspaces/remote/command-metrics.ts";
import { openPort } from "./http.ts";
import { openPrograms } from "./open-runtime.ts";
import type { Role } from "./run.ts";

/**
 * A host of sandboxes for workers elsewhere (`SANDBOX=remote`): any number of these processes. It needs neither database nor
 * keys, and keeps nothing but folders for the next commands.
 */
export const sandbox: Role = async (config, log, opened) => {
  const { token } = config.sandbox;
  if (token === null) {
    throw new ConfigError("SANDBOX_TOKEN must be set, the same for workers and sandboxes (`openssl rand -base64 32`).");
  }
  const http = await openPort(config, log, opened);
  const runtime = await openPrograms(config, log, opened);
  measureProcess();
  measureSandboxes(runtime);
  const app = sandboxApp({ runtime, token, log });
  opened.defer(() => {
    http.beginDrain();
    log.info({ commands: runtime.state.running, seconds: config.drainSeconds }, "draining: commands are finished");
    return http.drain(config.drainSeconds * 1000);
  });
  http.open(async (request) => {
    const startedAtMs = performance.now();
    const response = (await app(request)) ?? (await operatorPages(request, config.metricsToken));
    logRequest(log, { request, status: response.status, tenantId: null, startedAtMs });
    return response;
  });
  log.info({ url: http.publicUrl, host: config.host, port: http.port }, "running commands");
};

async function operatorPages(request: Request, metricsToken: string | null): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/healthz") return Response.json({ status: "ok" });
  if (pathname === "/readyz") return Response.json({ status: "ready", checks: {} });
  if (pathname !== "/metrics") return envelope(request, new ApiError("not_found"));
  if (!mayScrape(metricsToken, request)) {
    return envelope(
      request,
      new ApiError("unauthorized", { message: "Send the operator's METRICS_TOKEN as the bearer." }),
    );
  }
  return new Response(await registry.metrics(), { headers: { "Content-Type": registry.contentType } });
}
