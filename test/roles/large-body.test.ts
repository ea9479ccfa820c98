import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { readConfig } from "../../src/kernel/config.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { takePort } from "../../src/roles/http.ts";
import { startInstallation } from "../harness/processes.ts";

const megabyte = 1024 * 1024;

/** A chunk of one megabyte, as `Transfer-Encoding: chunked` writes it. */
const chunk = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(megabyte, " "), Buffer.from("\r\n")]);

/** The most memory that a process has had, in bytes; 0 where the system does not tell. */
function peakMemoryOf(pid: number): number {
  const path = `/proc/${pid}/status`;
  const [, kilobytes = "0"] = existsSync(path) ? (/VmHWM:\s+(\d+)/.exec(readFileSync(path, "utf8")) ?? []) : [];
  return Number(kilobytes) * 1024;
}

/**
 * Sends a head and then 150 pieces of 1 MB, all of them where `toTheEnd` says so, else until the response is there.
 * Resolves to what came back.
 */
function post(port: number, head: string, piece: Uint8Array, toTheEnd: boolean): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    let sent = 0;
    const socket = connect(port, "127.0.0.1");
    const end = () => {
      if (received.includes("}}") && (sent === 150 || !toTheEnd)) socket.destroy();
    };
    const send = () => {
      while (sent < 150 && !socket.destroyed) {
        sent += 1;
        if (!socket.write(piece)) return void socket.once("drain", send);
      }
      end();
    };
    socket.on("data", (data) => {
      received += data;
      end();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
    socket.write(head);
    send();
  });
}

test("413 payload_too_large: a body announced beyond every limit, in the envelope, and the connection ends", async () => {
  const http = await takePort(readConfig({ HOST: "127.0.0.1", PORT: "0" }), createLogger("silent"));
  try {
    const head = `POST /v1/agents HTTP/1.1\r\nHost: parley\r\nContent-Length: ${150 * megabyte}\r\n\r\n`;
    const response = await post(http.port, head, new Uint8Array(megabyte), false);
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

test("413 payload_too_large: a body of chunks, which announces nothing, in the envelope where it passes the limit", async () => {
  await using installation = await startInstallation();
  const { port, url, pid } = await installation.serve();
  const { token } = await installation.client(url);
  const head = [
    "POST /v1/agents HTTP/1.1",
    "Host: parley",
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    "Transfer-Encoding: chunked",
    "\r\n",
  ].join("\r\n");
  const before = peakMemoryOf(pid);
  const response = await post(port, head, chunk, true);
  expect(response).toStartWith("HTTP/1.1 413");
  expect(JSON.parse(response.slice(response.indexOf("\r\n\r\n")))).toMatchObject({
    error: { code: "payload_too_large" },
  });
  expect(peakMemoryOf(pid) - before).toBeLessThan(60 * megabyte);
}, 60_000);
