import { expect, test } from "bun:test";
import { RedisRelay } from "../../../src/kernel/relay/redis.ts";
import { RelayWriter } from "../../../src/kernel/relay/writer.ts";
import { findRedisServer } from "../../harness/redis.ts";
import { startCluster, startSentinels } from "../../harness/redis-groups.ts";
import { batchOf, chunkOf, newKey, readThroughLosses, until } from "../../harness/relay-reading.ts";

for (const [kind, startServers] of Object.entries({ Sentinels: startSentinels, "a Redis Cluster": startCluster })) {
  test.skipIf(findRedisServer() === null)(
    `after a fail-over of ${kind} the writers go on, and readers see the whole`,
    async () => {
      const servers = await startServers();
      const [worker, reader] = [new RedisRelay({ url: servers.url }), new RedisRelay({ url: servers.url })];
      await Promise.all([worker.ping(), reader.ping()]);
      const keys = Array.from({ length: 12 }, newKey);
      const writers = keys.map((key) => new RelayWriter(worker, key));
      const readings = keys.map((key) => readThroughLosses(reader, key, 60_000));
      for (const writer of writers) for (let number = 1; number <= 50; number++) writer.write(chunkOf(number));
      await Promise.all(writers.map((writer) => writer.flush()));
      const failedOver = servers.failOver();
      for (let number = 51; number <= 100; number++) {
        for (const writer of writers) writer.write(chunkOf(number));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await failedOver;
      await until(() => writers.every((writer) => !writer.away), 60_000);
      for (const writer of writers) expect(["ok", "away"]).toContain(await writer.end([chunkOf(101)]));
      for (const [index, text] of (await Promise.all(readings)).entries())
        expect(text === batchOf(keys[index]!, 1, 101).sse).toBe(true);
      await Promise.all([worker.close(), reader.close()]);
      await servers.stop();
    },
    400_000,
  );
}
