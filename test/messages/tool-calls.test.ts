import { expect, test } from "bun:test";
import { safeValidateUIMessages } from "ai";
import { closeCalls, withDecisions } from "../../src/messages/tool-calls.ts";
import type { UiMessage } from "../../src/messages/ui-message.ts";

const call = (id: string, more: object) => ({ type: "tool-write", toolCallId: id, input: { path: "a" }, ...more });
const asked = (id: string) => call(id, { state: "approval-requested", approval: { id: `apr_${id}` } });

test("calls without a result are closed so that the AI SDK takes the message back", async () => {
  const message: UiMessage = {
    id: "m1",
    role: "assistant",
    parts: [
      { type: "step-start" },
      asked("yes"),
      asked("no"),
      asked("open"),
      call("started", { state: "input-available" }),
    ],
  };
  const decided = withDecisions(message, [
    { toolCallId: "yes", approved: true, reason: null },
    { toolCallId: "no", approved: false, reason: "Not now" },
  ]);
  const closed = closeCalls(decided, "The worker was lost.");
  expect((await safeValidateUIMessages({ messages: [closed] })).success).toBe(true);
  const states = closed.parts.flatMap((part) =>
    "state" in (part as object) ? [(part as { state: string }).state] : [],
  );
  expect(states).toEqual(["output-error", "output-denied", "output-error", "output-error"]);
  expect(closed.parts[1]).toMatchObject({ approval: { id: "apr_yes", approved: true } });
  expect(closed.parts[2]).toMatchObject({ approval: { id: "apr_no", approved: false, reason: "Not now" } });
});
