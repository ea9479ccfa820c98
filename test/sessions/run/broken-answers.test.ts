import { afterAll, describe, expect, test } from "bun:test";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { startVendor, type VendorRequest } from "../../servers/vendor.ts";

const { h, t } = await useTenant({ worker: true });

/** The beginning of an answer, as each vendor streams it, and nothing after it. */
const beginnings: Readonly<Record<string, string>> = {
  custom: 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Half an "},"finish_reason":null}]}\n\n',
  openrouter:
    'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"Half an "},"finish_reason":null}]}\n\n',
  anthropic: [
    'event: message_start\ndata: {"type":"message_start","message":{"id":"c","model":"m","role":"assistant","type":"message","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n',
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half an "}}\n\n',
  ].join(""),
  google: 'data: {"candidates":[{"content":{"parts":[{"text":"Half an "}],"role":"model"},"index":0}]}\n\n',
};

let answer: () => Response = () => new Response();
const vendor = startVendor(({ body }: VendorRequest) => {
  // There is no list of models, which is asked for when an agent is made.
  return body === null ? new Response("no", { status: 404 }) : answer();
});
afterAll(() => vendor.stop());

async function say(agentId: string) {
  return t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message: userMessage("Hello."), stream: false } });
}

describe.each(Object.keys(beginnings))("%s", (providerType) => {
  test("502 provider_error: an answer that is no answer fails the turn, and is not kept", async () => {
    const provider = await makeProvider(h, t, { providerType: providerType as "custom", baseUrl: `${vendor.url}/v1` });
    const agentId = await makeAgent(h, t, { providerId: provider.id, model: "m" });
    const events = { headers: { "content-type": "text/event-stream" } };
    const noAnswers: readonly (() => Response)[] = [
      () => new Response("<html>The portal of your hotel.</html>", { headers: { "content-type": "text/html" } }),
      () => new Response("not JSON", { headers: { "content-type": "application/json" } }),
      () => Response.json({ hello: "world" }),
      () => new Response("", events),
      () => new Response(beginnings[providerType], events),
    ];
    for (const [index, noAnswer] of noAnswers.entries()) {
      answer = noAnswer;
      const { status, body } = await say(agentId);
      expect([index, status, body.error?.code]).toEqual([index, 502, "provider_error"]);
    }
    const kept = await h.sql`select 1 from messages join sessions s on s.id = session_id where s.agent_id = ${agentId}`;
    expect(kept).toHaveLength(0);
  });
});
