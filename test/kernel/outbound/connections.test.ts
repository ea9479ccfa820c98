import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { SharedSlots } from "../../../src/kernel/async/shared-slots.ts";
import { sharedSender } from "../../../src/kernel/outbound/fetch.ts";
import { type PinnedRequest, type PinOptions, pinnedSender } from "../../../src/kernel/outbound/pinned-fetch.ts";
import { eventually } from "../../harness/eventually.ts";
import { inRepository } from "../../harness/repository.ts";

const ca = readFileSync(inRepository("test/servers/tls/pinned.test.cert.pem"), "utf8");
const key = readFileSync(inRepository("test/servers/tls/pinned.test.key.pem"), "utf8");

let server: Server;
let url: URL;
let openSockets = 0;
/** Requests that wait for their response. */
let held: ServerResponse[] = [];

beforeAll(async () => {
  server = createServer({ key, cert: ca }, (_, response) => void held.push(response));
  // This server never closes a connection by itself.
  server.keepAliveTimeout = 0;
  server.on("secureConnection", (socket) => {
    openSockets++;
    socket.on("close", () => openSockets--);
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = new URL(`https://pinned.test:${(server.address() as AddressInfo).port}/`);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  held = [];
});

function sender(options: PinOptions = {}) {
  return pinnedSender({
    ca,
    resolve: async () => [{ address: "127.0.0.1", family: 4 }],
    isAllowed: () => true,
    ...options,
  });
}

function get(signal: AbortSignal | null = null): PinnedRequest {
  return { url, method: "GET", headers: new Headers(), body: null, signal };
}

/** Responds to the oldest waiting request. */
async function answer(): Promise<void> {
  await eventually(() => held.length > 0);
  held.shift()?.end("ok");
}

test("a connection that nobody uses is closed, although the server would keep it; one in use stays open however long it is silent", async () => {
  const send = sender({ idleMs: 50 });
  const used = send(get());
  const unused = send(get());
  await eventually(() => held.length === 2);
  const silent = held.pop();
  await answer();
  const first = await Promise.race([used, unused]);
  await first.text();
  await eventually(() => openSockets === 1);
  silent?.end("late");
  const texts = await Promise.all(
    [used, unused].map((sent) => sent.then((response) => (response === first ? "ok" : response.text()))),
  );
  expect(texts.sort()).toEqual(["late", "ok"]);
  await eventually(() => openSockets === 0);
});

test("one holder's requests wait for its share, and refuse nobody else's", async () => {
  const send = sender({ idleMs: 50 });
  const slots = new SharedSlots(3, 2);
  const [mine, other] = ["mine", "other"].map((holder) => sharedSender(send, slots, holder));
  const all = [1, 2, 3].map(() => mine?.(get()).then((response) => response.text()));
  await eventually(() => held.length === 2);
  const theirs = other?.(get()).then((response) => response.text());
  await eventually(() => held.length === 3);
  held.pop()?.end("theirs");
  expect(await theirs).toBe("theirs");
  expect(held.length).toBe(2);
  for (let i = 0; i < 3; i++) await answer();
  expect(await Promise.all(all)).toEqual(["ok", "ok", "ok"]);
});

test("a request that fails, is aborted or left gives its share back", async () => {
  const slots = new SharedSlots(1, 1);
  const shared = sharedSender(sender({ idleMs: 50 }), slots, "mine");
  const stop = new AbortController();
  const aborted = shared(get(stop.signal));
  await eventually(() => held.length === 1);
  const waiting = new AbortController();
  const leaves = shared(get(waiting.signal));
  waiting.abort(new Error("waited long enough"));
  await expect(leaves).rejects.toThrow("waited long enough");
  stop.abort(new Error("stopped"));
  await expect(aborted).rejects.toThrow("stopped");
  held = [];
  const failing = shared(get());
  await eventually(() => held.length === 1);
  held.pop()?.socket?.destroy();
  await expect(failing).rejects.toThrow("fetch failed");
  const left = shared(get());
  await eventually(() => held.length === 1);
  held.pop()?.write("begun");
  await (await left).body?.cancel();
  const last = shared(get());
  await answer();
  expect(await (await last).text()).toBe("ok");
});
