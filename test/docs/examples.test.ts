import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { startProcess } from "../harness/process.ts";

test("docs/examples/clock.ts tells where it listens, on a free port too", async () => {
  const child = startProcess(process.execPath, ["docs/examples/clock.ts", "0"], {});
  try {
    const [, url = ""] = await child.prints(/listens on (http:\S+\/mcp)/);
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"clock"')]);
  } finally {
    await child.kill();
  }
});

test("docs/examples/chat-apps.ts prints the variables that name it, on a free port too", async () => {
  const child = startProcess(process.execPath, ["docs/examples/chat-apps.ts", "0"], {});
  try {
    const [, slack = "", telegram = ""] = await child.prints(/CHAT_A_API_URL=(\S+) CHAT_B_API_URL=(\S+)\n/);
    expect(await (await fetch(`${slack}auth.test`, { method: "POST" })).json()).toMatchObject({ ok: true });
    const me = await fetch(`${telegram}/bot1:x/getMe`, { method: "POST" });
    expect(await me.json()).toMatchObject({ ok: true, result: { is_bot: true } });
  } finally {
    await child.kill();
  }
});

test("docs/examples/webhook-receiver.ts takes what is signed with its secret, once, and nothing else", async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const child = startProcess(process.execPath, ["docs/examples/webhook-receiver.ts", "0"], { WEBHOOK_SECRET: secret });
  try {
    const [, url = ""] = await child.prints(/listens on (http:\S+)/);
    const body = JSON.stringify({
      type: "turn.ended",
      timestamp: "t",
      data: { ids: { turnId: "turn_1" }, status: "failed" },
    });
    const at = new Date();
    const headers = {
      "webhook-id": "whd_1",
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign("whd_1", at, body),
    };
    const post = async (text: string) => (await fetch(url, { method: "POST", headers, body: text })).status;
    expect([await post(`${body} `), await post(body), await post(body)]).toEqual([400, 204, 204]);
    await child.prints(/turn\.ended failed \{"turnId":"turn_1"\}/);
  } finally {
    await child.kill();
  }
});
