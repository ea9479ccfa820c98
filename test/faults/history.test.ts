import { describe, expect, test } from "bun:test";
import { sharedRedisUrl } from "../harness/processes.ts";
import { playHistory } from "./history.ts";

/**
 * A random history of clients and faults, and what must hold of it. `npm run
 * test:faults` chooses its seed and its length; without, it is a short one.
 */
const seed = Number(process.env.PARLEY_FAULTS_SEED ?? 1);
const seconds = Number(process.env.PARLEY_FAULTS_SECONDS ?? 8);
const clients = Number(process.env.PARLEY_FAULTS_CLIENTS ?? 8);

describe.skipIf(sharedRedisUrl === null)("a random history", () => {
  test(
    `of ${clients} clients for ${seconds} s under faults, seed ${seed}: nothing is lost, doubled, mixed up or left busy`,
    async () => {
      const faults = await playHistory({
        seed,
        seconds,
        clients,
        log: (line) => void process.stderr.write(`  ${line}\n`),
      });
      expect(faults).toEqual([]);
    },
    seconds * 1_000 + 400_000,
  );
});
