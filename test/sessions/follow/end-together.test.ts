import { expect, test } from "bun:test";
import { useAgent } from "../../harness/fixture.ts";
import { userMessage } from "../../harness/seed.ts";

const { h, t, agentId } = await useAgent({ worker: true });

const ask = async (script: string) => {
  const message = userMessage(`[[sim: ${script}]]`);
  const { status, body } = await t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message, stream: false } });
  return { status, body: JSON.stringify(body) };
};

test("turns that end at once are each answered with their own message, failed ones and long ones among them", async () => {
  const long = "x".repeat(100_000);
  const asked = Array.from({ length: 60 }, (_, n) => {
    if (n % 10 === 3) return { n, answer: ask("fail=500") };
    if (n % 10 === 7) return { n, answer: ask(`text="long ${n} ${long}"`) };
    return { n, answer: ask(`text="short ${n}."`) };
  });
  for (const { n, answer } of asked) {
    const { status, body } = await answer;
    if (n % 10 === 3) expect([status, body.includes("provider_error")]).toEqual([502, true]);
    else if (n % 10 === 7) expect([status, body.includes(`long ${n} ${long}`)]).toEqual([201, true]);
    else expect([status, body.includes(`short ${n}.`)]).toEqual([201, true]);
  }
  expect(await h.sql`select 1 from turns where status not in ('succeeded', 'failed')`).toHaveLength(0);
});
