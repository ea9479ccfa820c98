import { describe, expect, test } from "bun:test";
import { MemoryRelay } from "../../../src/kernel/relay/memory.ts";
import { formatEvent } from "../../../src/kernel/relay/relay.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { inProcess } from "../../harness/runtimes.ts";
import { userMessage } from "../../harness/seed.ts";
import { sessionPath } from "../../harness/turns.ts";

/** Notes which attempt of a log each follower reads, and who was given something. */
class WatchedRelay extends MemoryRelay {
  readonly attempts: number[] = [];
  given = 0;

  override async *follow(...[key, ...rest]: Parameters<MemoryRelay["follow"]>): ReturnType<MemoryRelay["follow"]> {
    this.attempts.push(key.attempt);
    for await (const item of super.follow(key, ...rest)) {
      this.given += 1;
      yield item;
    }
  }
}

const relay = new WatchedRelay();
const { h, t, agentId } = await useAgent({ relay });

describe.skipIf(!inProcess)("a turn whose log was lost after it had shown something, and that runs again", () => {
  test("is waited for to its end by a client that wants JSON", async () => {
    const path = sessionPath(agentId, null);
    const answer = t.call("POST", path, { body: { message: userMessage("hello"), stream: false } });
    const turn = await eventually(async () => (await h.sql`select id, session_id from turns`)[0] ?? null);
    const sse = formatEvent(turn.id, 1, { type: "text-start", id: "txt-0" });
    await eventually(() => relay.attempts.length > 0);
    await relay.append({ logId: turn.id, attempt: 1 }, { first: 1, count: 1, sse });
    await eventually(() => relay.given > 0);
    // Its worker died just then, before the row said that something was shown, and the relay came back empty.
    await h.sql`update turns set attempt = 1 where id = ${turn.id}`;
    await eventually(() => relay.attempts.includes(2));
    expect((await t.call("POST", sessionPath(agentId, turn.sessionId, "/cancel"))).status).toBe(202);
    const { status, body } = await answer;
    expect([status, body.error.code]).toEqual([409, "turn_canceled"]);
  });
});
