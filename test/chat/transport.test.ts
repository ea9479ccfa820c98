import { afterAll, expect, test } from "bun:test";
import { platformFetch } from "../../src/chat/transport.ts";
import { longestStallMs } from "../harness/stall.ts";
import { startVendor } from "../servers/vendor.ts";

let says = "{}";
const platform = startVendor(() => new Response(says, { headers: { "content-type": "application/json" } }));
afterAll(() => platform.stop());
const ask = () => platformFetch(AbortSignal.timeout(10_000))(platform.url);

test("a platform's answer is read as it is", async () => {
  says = '{"ok":true,"text":"ß"}';
  const answer = await ask();
  expect(await answer.json()).toEqual({ ok: true, text: "ß" });
});

test("one that is beyond its bounds is not parsed, and may have been done", async () => {
  for (const text of [`[${"[],".repeat(300_000)}[]]`, "[".repeat(900_000), `"${"x".repeat(2 * 1024 * 1024)}"`]) {
    says = text;
    let failure: unknown;
    const stood = await longestStallMs(async () => {
      failure = await ask().catch((error) => error);
    });
    expect(failure).toMatchObject({ kind: "unsure", code: "unreadable_answer" });
    expect(stood).toBeLessThan(400);
  }
});
