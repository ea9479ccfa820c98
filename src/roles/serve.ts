import { createApp } from "../app.ts";
import { startHttpBeat } from "../installation/http-processes.ts";
import { lastRequestsMs } from "../kernel/limits.ts";
import { followEpoch } from "../kernel/relay/epoch.ts";
import { servedPages, warnOfOldPages } from "./built-pages.ts";
import { checkDatabase, checkPooler } from "./database.ts";
import { openFoundation, openHttpContext } from "./foundation.ts";
import { openPort } from "./http.ts";
import { openRuntime } from "./open-runtime.ts";
import { checkRedis } from "./redis.ts";
import type { Role } from "./run.ts";
import { requireShared } from "./shared.ts";

/** The HTTP tier alone: any number of these processes, beside any number of `work`. */
export const serve: Role = async (config, log, opened) => {
  const shared = requireShared(config);
  const http = await openPort(config, log, opened);
  await checkDatabase(shared.databaseUrl);
  await checkPooler(shared.databaseUrl, config.databasePoolUrl);
  await checkRedis(shared.redisUrl);
  const { publicUrl } = http;
  const foundation = openFoundation({ ...shared, config, log, publicUrl, simulatedModelUrl: null }, opened);
  const ctx = openHttpContext(foundation, opened);
  opened.defer(await followEpoch(ctx.probeSql, ctx.relay));
  await openRuntime(config, log, opened);
  opened.defer(startHttpBeat(ctx.probeSql, log));
  opened.defer(() => http.drain(config.drainSeconds * 1000, lastRequestsMs));
  for (const pages of servedPages(config)) await warnOfOldPages(log, pages);
  http.open(createApp(ctx));
  log.info({ url: publicUrl, host: config.host, port: http.port }, "serving");
};
