import { createApp } from "../app.ts";
import { checkDatabase } from "./database.ts";
import { takePort } from "./http.ts";
import type { Role } from "./run.ts";
import { openHttpContext, openRedis, openRelay, requireShared } from "./tier.ts";

/** The HTTP tier alone: any number of these processes, beside any number of `work`. */
export const serve: Role = async (config, log, opened) => {
  const { databaseUrl, redisUrl, encryptionKey } = requireShared(config);
  const http = takePort(config);
  opened.defer(() => http.drain(0));
  await checkDatabase(databaseUrl);
  const relay = openRelay(redisUrl, log, opened);
  const redis = openRedis(redisUrl, log, opened);
  const { publicUrl } = http;
  const foundation = { config, log, databaseUrl, relay, redis, encryptionKey, publicUrl, simulatedModelUrl: null };
  http.open(createApp(openHttpContext(foundation, opened)));
  opened.defer(() => http.drain(config.drainSeconds * 1000));
  log.info({ url: publicUrl, host: config.host }, "serving");
};
