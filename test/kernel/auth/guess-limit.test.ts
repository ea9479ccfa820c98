import { describe, expect, test } from "bun:test";
import { Redis } from "ioredis";
import { createGuessLimiter, guessesMax } from "../../../src/kernel/auth/guess-limit.ts";
import { sharedRedisUrl } from "../../harness/harness.ts";

const freshAddress = () => `10.0.${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}`;

describe("the limit of wrong sign-ins", () => {
  test("holds for one address, and takes back what was right", async () => {
    const limiter = createGuessLimiter(null);
    for (let count = 0; count < guessesMax; count++) expect(await limiter.count("10.0.0.1")).toBe(0);
    const waitSeconds = await limiter.count("10.0.0.1");
    expect(waitSeconds > 0 && waitSeconds <= 60).toBe(true);
    expect(await limiter.count("::ffff:10.0.0.1")).toBeGreaterThan(0);
    expect(await limiter.count("10.0.0.2")).toBe(0);
    const right = createGuessLimiter(null);
    for (let count = 0; count < 3 * guessesMax; count++) {
      expect(await right.count("10.0.0.1")).toBe(0);
      await right.forgive("10.0.0.1");
    }
  });

  test("counts the addresses of one IPv6 network together", async () => {
    const limiter = createGuessLimiter(null);
    for (let count = 0; count < guessesMax; count++) expect(await limiter.count(`2001:db8::${count + 1}`)).toBe(0);
    expect(await limiter.count("2001:0db8:0:0:ffff:1:2:3".replace("0db8", "db8"))).toBeGreaterThan(0);
    expect(await limiter.count("2001:db8:0:1::1")).toBe(0);
    expect(await limiter.count("::1")).toBe(0);
  });

  test.skipIf(sharedRedisUrl === null)("is shared by the processes of an installation", async () => {
    await using opened = new AsyncDisposableStack();
    const limiters = [1, 2].map(() => {
      const redis = new Redis(sharedRedisUrl as string);
      opened.defer(async () => void (await redis.quit()));
      return createGuessLimiter(redis);
    });
    const address = freshAddress();
    for (let count = 0; count < guessesMax; count++) expect(await limiters[count % 2]?.count(address)).toBe(0);
    for (const limiter of limiters) expect(await limiter.count(address)).toBeGreaterThan(0);
  });
});
