import { expect, test } from "bun:test";
import { connect } from "node:net";
import { readConfig } from "../../src/kernel/config.ts";
import { takePort } from "../../src/roles/http.ts";

const megabyte = 1024 * 1024;

/** Sends a head and then up to 150 MB; resolves to what came back until the connection ended. */
function post(port: number, head: string): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    let sent = 0;
    const socket = connect(port, "127.0.0.1");
    const piece = new Uint8Array(megabyte);
    const send = () => {
      while (sent < 150 && !socket.destroyed) {
        sent += 1;
        if (!socket.write(piece)) return void socket.once("drain", send);
      }
    };
    socket.on("data", (data) => {
      received += data;
      if (received.includes("}}")) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
    socket.write(head);
    send();
  });
}

test("a body announced beyond every limit is refused in the envelope, and the connection ends", async () => {
  const http = takePort({ ...readConfig({ HOST: "127.0.0.1", PORT: "0" }) });
  try {
    const head = `POST /v1/agents HTTP/1.1\r\nHost: parley\r\nContent-Length: ${150 * megabyte}\r\n\r\n`;
    const response = await post(http.port, head);
    expect(response).toStartWith("HTTP/1.1 413");
    expect(response.toLowerCase()).toContain("connection: close");
    expect(JSON.parse(response.slice(response.indexOf("\r\n\r\n")))).toMatchObject({
      error: { code: "payload_too_large", requestId: expect.stringMatching(/^req_/) },
    });
    const body = new Uint8Array(150 * megabyte);
    const fetched = await fetch(`http://127.0.0.1:${http.port}/v1/agents`, { method: "POST", body });
    expect([fetched.status, ((await fetched.json()) as { error: { code: string } }).error.code]).toEqual([
      413,
      "payload_too_large",
    ]);
  } finally {
    await http.drain(0);
  }
}, 20_000);
