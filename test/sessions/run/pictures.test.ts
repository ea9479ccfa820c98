import { afterAll, describe, expect, test } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { listen } from "../../../src/kernel/runtime.ts";
import { eventually } from "../../harness/eventually.ts";
import { useAgent } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { appendMessages } from "../../harness/transcript.ts";
import { play, script, textOf } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true, agent: { tools: ["memory"] } });

const forms = ["a", "b"] as const;
const mib = 1024 * 1024;
/** A server of pictures: `/<bytes>/<name>` is a picture of that size, which waits while `gate` is closed. */
const seen = { paths: [] as string[], open: 0, most: 0 };
let gate: Promise<void> = Promise.resolve();
const pictures = listen({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { pathname } = new URL(request.url);
    seen.paths.push(pathname);
    seen.open += 1;
    seen.most = Math.max(seen.most, seen.open);
    await gate;
    seen.open -= 1;
    return new Response(new Uint8Array(Number(pathname.split("/")[1])), { headers: { "content-type": "image/png" } });
  },
});
afterAll(() => pictures.stop(true));

/** A model that takes requests of any size, and answers with one word. */
const model = createServer((request, response) => {
  request.resume().on("end", () => {
    const chunk = (choice: object) => `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, ...choice }] })}\n\n`;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(
      `${chunk({ delta: { content: "Yes." } })}${chunk({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`,
    );
  });
});
await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
afterAll(() => model.close());
const provider = await makeProvider(h, t, { baseUrl: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1` });
const patient = await makeAgent(h, t, { providerId: provider.id });

const picture = (bytes: number, name: number | string) => ({
  type: "file",
  mediaType: "image/png",
  url: `http://127.0.0.1:${pictures.port}/${bytes}/${name}`,
});

/** A session whose transcript has messages with such pictures. */
async function sessionWith(agent: string, ...messages: (readonly object[])[]): Promise<string> {
  const { sessionId } = await play(t, agent, null, { message: userMessage("first"), stream: false });
  const written = messages.map((parts, index) => ({ id: `p${index}`, role: "user" as const, parts }));
  await appendMessages(h.sql, sessionId, written);
  seen.paths.length = 0;
  seen.most = 0;
  return sessionId;
}

describe("pictures of a message", () => {
  const image = { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" };

  test.each(forms)("20 are taken, in form %s", async (form) => {
    const message = { ...userMessage("look"), parts: Array(20).fill(image) };
    expect((await play(t, agentId, null, { message, stream: false }, { form })).status).toBe(201);
  });

  test.each(forms)(
    "400 validation_failed (A: invalid_request): the 21st, in a stateless generation too, of any role, in form %s",
    async (form) => {
      const user = userMessage("look");
      for (const role of ["user", "assistant"]) {
        const crowded = (count: number) => ({
          body: { messages: [{ role, parts: Array(count).fill(image) }, user], stream: false },
          form,
        });
        const path = `/v1/agents/${agentId}/generate`;
        expect((await t.call("POST", path, crowded(20))).status).toBe(200);
        const refused = await t.call("POST", path, crowded(21));
        expect(refused.status).toBe(400);
        expect(JSON.stringify(refused.body)).toContain("/messages/0/parts/20");
      }
    },
  );
});

describe("pictures that a turn fetches", () => {
  test("each once, however many steps the turn has, and 4 at once", async () => {
    const ten = Array.from({ length: 10 }, (_, index) => picture(100, index));
    const sessionId = await sessionWith(agentId, ten, [picture(100, 3), picture(100, 4)]);
    const released = Promise.withResolvers<void>();
    gate = released.promise;
    const message = script('tool=memory_search args={"query":"x"}; text="Seen."');
    const played = play(t, agentId, sessionId, { message });
    await eventually(() => seen.open === 4);
    released.resolve();
    expect(textOf((await played).chunks)).toContain("Seen.");
    expect(seen.most).toBe(4);
    expect([...seen.paths].sort()).toEqual(Array.from({ length: 10 }, (_, index) => `/100/${index}`));
  });

  test("502 provider_error: more than 50 MiB together, in any number of messages", async () => {
    const many = Array.from({ length: 25 }, (_, index) => picture(mib, `a${index}`));
    const more = Array.from({ length: 25 }, (_, index) => picture(mib, `b${index}`));
    const sessionId = await sessionWith(patient, many, more);
    const within = await play(t, patient, sessionId, { message: userMessage("look"), stream: false });
    expect(within.status).toBe(200);
    await appendMessages(h.sql, sessionId, [{ id: "one", role: "user", parts: [picture(1, "too-many")] }]);
    const beyond = await play(t, patient, sessionId, { message: userMessage("look"), stream: false });
    expect([beyond.status, beyond.body.error.code]).toEqual([502, "provider_error"]);
    expect(beyond.body.error.message).toBe("The pictures of the conversation are larger than 50 MiB together.");
  });
});
