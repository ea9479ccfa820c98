import { expect, test } from "bun:test";
import { useChat } from "../harness/chat-fixture.ts";
import { useReceiver } from "../harness/webhook-fixture.ts";

const fixture = await useChat();
const hooks = await useReceiver();

test("delivery.failed: a reply that the platform refuses, and one of which nobody knows; again after a repair", async () => {
  const { t, agentId } = await fixture.tenant();
  const hook = await hooks.hook(t, ["delivery.failed"]);
  const slack = await fixture.connectSlack(t, agentId);
  const post = "/api/chat.postMessage";
  const refusal = { status: 200, body: { ok: false, error: "is_archived" } };
  const { token } = slack.bot;
  fixture.slack.injectFault(post, refusal, token);
  const thread = await fixture.mention(slack, '[[sim: text="one"]]');
  const failed = await fixture.delivery(t, slack.id, thread, "failed");
  const [first] = await hooks.told(t, hook, 1);
  const ids = { deliveryId: failed.id, connectionId: slack.id, sessionId: failed.sessionId };
  expect(first).toMatchObject({ type: "delivery.failed", data: { ids, status: "failed" } });
  fixture.slack.injectFault(post, refusal, token);
  await t.parley.chatDeliveries.repair(slack.id, failed.id, {
    expectedAttempt: 0,
    previousSenderStopped: true,
    acceptDuplicateRisk: true,
  });
  await hooks.told(t, hook, 2);
  fixture.slack.injectFault(post, "cut after", token);
  const other = await fixture.mention(slack, '[[sim: text="two"]]');
  const ambiguous = await fixture.delivery(t, slack.id, other, "ambiguous");
  const events = await hooks.told(t, hook, 3);
  expect(events.map(({ data }) => [data.ids.deliveryId, data.status])).toEqual([
    [failed.id, "failed"],
    [failed.id, "failed"],
    [ambiguous.id, "ambiguous"],
  ]);
});
