import { afterAll, describe, expect, test } from "bun:test";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { longestStallMs } from "../../harness/stall.ts";
import { play, sessionPath } from "../../harness/turns.ts";

const { h, t } = await useTenant({ worker: true });
const mib = 1024 * 1024;

/** Makes a session whose messages have these sizes; returns its path and the JSON of each, as it is stored. */
async function sessionOf(sizes: readonly number[]): Promise<{ path: string; stored: string[] }> {
  const agentId = await makeAgent(h, t);
  const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
  await h.sql`delete from messages where session_id = ${sessionId}`;
  const stored = sizes.map((size, place) =>
    JSON.stringify({
      id: `m${place}`,
      role: "user",
      parts: [{ type: "text", text: `é"\n😀${"ab ".repeat(size / 3)}` }],
    }),
  );
  for (const [place, text] of stored.entries())
    await h.sql`insert into messages (session_id, seq, id, role, turn_id, content)
      values (${sessionId}, ${100 + place}, ${`m${place}`}, 'user', 'turn_x', ${text}::text::json)`;
  return { path: `${sessionPath(agentId, sessionId)}/messages`, stored };
}

const service = Bun.serve({ port: 0, fetch: (request) => h.app(request) });
afterAll(() => service.stop(true));
const read = (path: string) => fetch(new URL(path, service.url), { headers: { authorization: `Bearer ${t.token}` } });

describe("large pages of messages", () => {
  test.each([
    ["small", [10, 1000]],
    ["large", [1.5 * mib, 1.5 * mib, 3 * mib]],
  ])("a %s page has the bytes that JSON.stringify makes of what is in it", async (_, sizes) => {
    const { path, stored } = await sessionOf(sizes);
    for (const query of ["", "?pending=true"]) {
      const response = await read(path + query);
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
      const text = await response.text();
      const page = JSON.parse(text);
      expect(page.data).toEqual(stored.map((json) => JSON.parse(json)));
      expect(text === JSON.stringify(page)).toBe(true);
    }
  });

  test("six at once are all read, and the loop never stands", async () => {
    const { path } = await sessionOf([15 * mib]);
    let statuses: number[] = [];
    const stallMs = await longestStallMs(async () => {
      statuses = await Promise.all(
        Array.from({ length: 6 }, async () => {
          const response = await read(path);
          for await (const _ of response.body as ReadableStream<Uint8Array>);
          return response.status;
        }),
      );
    });
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(stallMs).toBeLessThan(300);
  });

  test("a reader that leaves gives its place back", async () => {
    const { path } = await sessionOf([15 * mib]);
    for (let count = 0; count < 3; count++) {
      const response = await read(path);
      expect(response.status).toBe(200);
      await response.body?.cancel();
    }
    const response = await read(path);
    expect((await response.text()).length).toBeGreaterThan(15 * mib - 10);
  });
});
