import { describe, expect, test } from "bun:test";
import { heldMark, holdModel, openEndedMark } from "../harness/held-model.ts";
import { sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { startCluster, startSentinels } from "../harness/redis-groups.ts";
import { expectWhole, hasShown } from "../harness/turn-checks.ts";

describe.skipIf(sharedRedisUrl === null)("an installation on several Redis", () => {
  for (const [kind, startServers] of Object.entries({ Sentinels: startSentinels, "a Redis Cluster": startCluster })) {
    test(`${kind}: turns are read live, and through a fail-over whole`, async () => {
      const servers = await startServers();
      await using installation = await startInstallation({ redisUrl: servers.url });
      await using model = holdModel(installation.model);
      const c = await installation.client((await installation.serve()).url, model.url);
      await installation.work();
      const turns = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((n) => c.turn(`live-${n} ${openEndedMark} [[sim: chunks=40 delayMs=20]]`)),
      );
      // The model holds back their ends, so what is shown is shown live.
      await Promise.all(turns.map(hasShown));
      const quiet = await c.turn(`quiet ${heldMark} [[sim: text="after it"]]`);
      await servers.failOver();
      model.release();
      await Promise.all([...turns, quiet].map(({ stream }) => stream.closed));
      for (const turn of turns) expectWhole(turn);
      expectWhole(quiet, "after it");
      const answers = await Promise.all(Array.from({ length: 5 }, () => c.request("GET", "/v1/agents")));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      await servers.stop();
    }, 400_000);
  }
});
