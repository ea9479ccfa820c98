import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { PassThrough } from "node:stream";
import { constants, createBrotliCompress, createGzip, deflateRawSync } from "node:zlib";
import { isPublicAddress, tenantUrlFault } from "../../../src/kernel/outbound/address.ts";
import {
  directFetch,
  type Fetch,
  guardedFetch,
  RefusedAddressError,
  tenantFetch,
} from "../../../src/kernel/outbound/fetch.ts";
import type { PinOptions } from "../../../src/kernel/outbound/pinned-fetch.ts";
import { eventually } from "../../harness/eventually.ts";
import { inRepository } from "../../harness/repository.ts";

/** A self-signed certificate for the names `pinned.test` and `elsewhere.test`, valid for a hundred years. */
const ca = readFileSync(inRepository("test/servers/tls/pinned.test.cert.pem"), "utf8");
const key = readFileSync(inRepository("test/servers/tls/pinned.test.key.pem"), "utf8");

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly socketPort: number;
}

let server: Server;
let port: number;
let origin: string;
let seen: Seen[] = [];
/** The connection of the newest request. */
let socket: Socket | null = null;
let respond: (request: IncomingMessage, response: ServerResponse, body: string) => void = (_, response) =>
  response.end("ok");

beforeAll(async () => {
  server = createServer({ key, cert: ca }, async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    seen.push({
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.headers,
      body,
      socketPort: request.socket.remotePort ?? 0,
    });
    socket = request.socket;
    respond(request, response, body);
  });
  server.on("secureConnection", (connection) => connection.on("error", () => {}));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
  origin = `https://pinned.test:${port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const loopback = [{ address: "127.0.0.1", family: 4 }];

const isClosed = () => socket?.destroyed === true;

/** A guarded fetch for which this machine's one address counts as public. */
function fetchHere(options: PinOptions = {}): Fetch {
  seen = [];
  return guardedFetch({
    ca,
    resolve: async () => loopback,
    isAllowed: (address) => address === "127.0.0.1",
    ...options,
  });
}

async function errorOf(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("It did not fail."),
    (error: Error) => error,
  );
}

describe("isPublicAddress", () => {
  test("takes ordinary addresses only", () => {
    for (const address of ["8.8.8.8", "93.184.215.14", "2606:4700:4700::1111"])
      expect([address, isPublicAddress(address)]).toEqual([address, true]);
  });

  test("refuses every special one, in every spelling", () => {
    const special =
      "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 100.64.0.1 100.100.100.200 169.254.169.254 168.63.129.16 0.0.0.0 " +
      "0.1.2.3 192.0.0.192 192.0.2.1 198.18.0.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 ::1 :: ::127.0.0.1 " +
      "::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2001::1 fc00::1 " +
      "fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 100::1 2001:db8::1 5f00::1 4000::1 localhost";
    for (const address of special.split(" ")) expect([address, isPublicAddress(address)]).toEqual([address, false]);
  });
});

describe("tenantUrlFault", () => {
  test("null for https and public", () => {
    for (const url of ["https://api.openai.com/v1", "https://8.8.8.8", "https://[2606:4700::1111]:8443/x"])
      expect([url, tenantUrlFault(url, false)]).toEqual([url, null]);
  });

  test("names what is wrong, however an address is written", () => {
    const wrong =
      "http://api.openai.com/v1 ftp://x.example x https://localhost/v1 https://LOCALHOST./v1 https://a.localhost " +
      "https://127.0.0.1 https://127.1 https://2130706433 https://0x7f000001 https://0177.0.0.1 https://[::1] " +
      "https://[::ffff:127.0.0.1] https://postgres https://metadata.google.internal https://printer.local " +
      "https://169.254.169.254/latest https://user:secret@api.openai.com";
    for (const url of wrong.split(" ")) expect([url, tenantUrlFault(url, false)]).toEqual([url, expect.any(String)]);
  });

  test("ALLOW_PRIVATE_NETWORK lifts https and public, and nothing else", () => {
    expect(tenantUrlFault("http://127.0.0.1:8080/v1", true)).toBeNull();
    expect(tenantUrlFault("https://localhost", true)).toBeNull();
    for (const url of ["file:///etc/passwd", "x", "http://user:secret@localhost"])
      expect([url, tenantUrlFault(url, true)]).toEqual([url, expect.any(String)]);
    expect(tenantFetch({ allowPrivateNetwork: true }, null)).toBe(directFetch);
    expect(tenantFetch({ allowPrivateNetwork: false }, null)).not.toBe(directFetch);
  });
});

describe("guardedFetch", () => {
  test("connects to the address that was checked, under the name's TLS identity", async () => {
    let lookups = 0;
    const fetch = fetchHere({
      resolve: async () => (lookups++ === 0 ? loopback : [{ address: "10.0.0.1", family: 4 }]),
    });
    const response = await fetch(`${origin}/v1/x?y=1`, {
      method: "POST",
      body: '{"a":1}',
      headers: { "x-api-key": "k" },
    });
    expect([response.status, await response.text()]).toEqual([200, "ok"]);
    expect(lookups).toBe(1);
    expect(seen[0]).toMatchObject({ method: "POST", url: "/v1/x?y=1", body: '{"a":1}' });
    expect(seen[0]?.headers).toMatchObject({ host: `pinned.test:${port}`, "x-api-key": "k", "content-length": "7" });
  });

  test("DNS rebinding: a name that resolves to a public address first and private then is refused at the second connection", async () => {
    let lookups = 0;
    const fetch = fetchHere({
      resolve: async () => (lookups++ === 0 ? loopback : [{ address: "10.0.0.1", family: 4 }]),
    });
    respond = (_, response) => response.writeHead(200, { connection: "close" }).end("first");
    expect(await (await fetch(origin)).text()).toBe("first");
    const error = await errorOf(fetch(origin));
    respond = (_, response) => response.end("ok");
    expect(error).toBeInstanceOf(RefusedAddressError);
    expect(error.message).not.toContain("10.0.0.1");
    expect([lookups, seen.length]).toEqual([2, 1]);
  });

  test("refuses a name of which one address is private, and a name without any", async () => {
    const mixed = fetchHere({ resolve: async () => [...loopback, { address: "169.254.169.254", family: 4 }] });
    expect(await errorOf(mixed(origin))).toBeInstanceOf(RefusedAddressError);
    const none = fetchHere({ resolve: async () => [] });
    expect(await errorOf(none(origin))).toBeInstanceOf(TypeError);
    expect(seen).toEqual([]);
  });

  test("refuses this machine with the system's resolver, addresses in the URL and plain http", async () => {
    const fetch = guardedFetch({ ca });
    seen = [];
    for (const host of ["localhost", "127.0.0.1", "[::1]", "2130706433"])
      expect(await errorOf(fetch(`https://${host}:${port}/`))).toBeInstanceOf(RefusedAddressError);
    expect(await errorOf(fetchHere()(`http://pinned.test:${port}/`))).toBeInstanceOf(RefusedAddressError);
    expect(seen).toEqual([]);
  });

  test("verifies the certificate", async () => {
    const error = await errorOf(fetchHere()(`https://unnamed.test:${port}/`));
    expect(error).toBeInstanceOf(TypeError);
    expect((error.cause as { code: string }).code).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  });

  test("checks every redirect", async () => {
    for (const location of [
      "https://127.0.0.1/",
      "https://localhost/",
      "http://pinned.test/",
      "https://[::1]/",
      "file:///x",
    ]) {
      respond = (_, response) => response.writeHead(302, { location }).end();
      expect([location, (await errorOf(fetchHere()(origin))).name]).toEqual([location, "RefusedAddressError"]);
    }
    expect(seen.length).toBe(1);
  });

  test("follows redirects of one origin with method, body and headers, and at most five", async () => {
    respond = (request, response) =>
      request.url === "/end" ? response.end("there") : response.writeHead(307, { location: "/end" }).end();
    const init = { method: "POST", body: "b", headers: { authorization: "Bearer k" } };
    expect(await (await fetchHere()(`${origin}/start`, init)).text()).toBe("there");
    expect(seen[1]).toMatchObject({ method: "POST", url: "/end", body: "b" });
    expect(seen[1]?.headers.authorization).toBe("Bearer k");

    respond = (request, response) =>
      request.url === "/end" ? response.end() : response.writeHead(303, { location: "/end" }).end();
    await (await fetchHere()(`${origin}/start`, init)).text();
    expect(seen[1]).toMatchObject({ method: "GET", url: "/end", body: "" });
    expect(seen[1]?.headers["content-length"]).toBeUndefined();

    respond = (_, response) => response.writeHead(302, { location: "/again" }).end();
    expect((await errorOf(fetchHere()(origin))).message).toContain("5 redirects");
    expect(seen.length).toBe(6);
    expect((await fetchHere()(origin, { redirect: "manual" })).status).toBe(302);
    expect(await errorOf(fetchHere()(origin, { redirect: "error" }))).toBeInstanceOf(TypeError);
  });

  test("a redirect to another origin carries no credential, and no body", async () => {
    respond = (request, response) =>
      request.url === "/end"
        ? response.end("there")
        : response.writeHead(307, { location: `https://elsewhere.test:${port}/end` }).end();
    const headers = { authorization: "Bearer k", "x-api-key": "k", cookie: "k", "x-goog-api-key": "k", accept: "a/b" };
    const fetch = fetchHere();
    expect(await (await fetch(`${origin}/start`, { headers })).text()).toBe("there");
    expect(seen[1]?.headers).toMatchObject({ host: `elsewhere.test:${port}`, accept: "a/b" });
    expect(JSON.stringify(seen[1]?.headers)).not.toMatch(/"(Bearer )?k"/);
    expect(await errorOf(fetch(`${origin}/start`, { method: "POST", body: "secret" }))).toBeInstanceOf(
      RefusedAddressError,
    );
    respond = (_, response) => response.end("ok");
  });

  test("streams: the first piece is read before the last is written, plain, gzip and br", async () => {
    for (const [encoding, encoder] of [
      ["", new PassThrough()],
      ["gzip", createGzip({ flush: constants.Z_SYNC_FLUSH })],
      ["br", createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH })],
    ] as const) {
      respond = (_, response) => {
        response.writeHead(200, encoding === "" ? {} : { "content-encoding": encoding });
        encoder.pipe(response);
        encoder.write("first ");
      };
      const response = await fetchHere()(origin);
      const pieces = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>)
        .pipeThrough(new TextDecoderStream())
        .getReader();
      expect([encoding, (await pieces.read()).value]).toEqual([encoding, "first "]);
      encoder.end("second");
      expect([encoding, (await pieces.read()).value]).toEqual([encoding, "second"]);
      expect((await pieces.read()).done).toBe(true);
      expect(response.headers.get("content-encoding")).toBeNull();
    }
    respond = (_, response) => response.end("ok");
  });

  test("unpacks a compressed response only as far as it is read", async () => {
    // 64 MiB in 64 KiB, without an end, so that it can be repeated: without a brake 16 MiB of it are 16 GiB.
    const packed = deflateRawSync(Buffer.alloc(64 * 1024 * 1024), { finishFlush: constants.Z_FULL_FLUSH });
    let written = 0;
    respond = (_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.write(Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3));
      const more = () => {
        while (!response.destroyed) {
          written += packed.length;
          if (!response.write(packed)) return response.once("drain", more);
        }
      };
      more();
    };
    const reader = ((await fetchHere()(origin)).body as ReadableStream<Uint8Array>).getReader();
    let read = 0;
    let largest = 0;
    while (read < 1024 * 1024) {
      const { value = new Uint8Array() } = await reader.read();
      read += value.length;
      largest = Math.max(largest, value.length);
    }
    await reader.cancel();
    await eventually(isClosed);
    expect(written).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(largest).toBeLessThanOrEqual(1024 * 1024);
    respond = (_, response) => response.end("ok");
  });

  test("keeps connections alive and returns 204 and HEAD without a body", async () => {
    const fetch = fetchHere();
    for (let i = 0; i < 3; i++) await (await fetch(origin)).text();
    expect(new Set(seen.map(({ socketPort }) => socketPort)).size).toBe(1);
    respond = (_, response) => response.writeHead(204).end();
    const empty = await fetch(origin);
    expect([empty.status, empty.body]).toEqual([204, null]);
    respond = (_, response) => response.writeHead(200, { "content-length": "5" }).end();
    const head = await fetch(origin, { method: "HEAD" });
    expect([head.status, head.body, head.headers.get("content-length")]).toEqual([200, null, "5"]);
    respond = (_, response) => response.end("ok");
  });

  test("an abort rejects with the signal's reason and closes the socket at once, before and during the response", async () => {
    for (const starts of [false, true]) {
      const fetch = fetchHere();
      respond = (_, response) => {
        if (starts) response.writeHead(200).write("begun");
      };
      const stop = new AbortController();
      const asked = fetch(origin, { signal: stop.signal });
      asked.catch(() => {});
      await eventually(() => seen.length === 1);
      const reading = starts ? asked.then((response) => response.text()) : asked;
      if (starts) await asked;
      expect(isClosed()).toBe(false);
      const abortedAt = performance.now();
      stop.abort(new DOMException("Stopped.", "AbortError"));
      expect((await errorOf(reading)).name).toBe("AbortError");
      await eventually(isClosed);
      // An idle one would be kept for 30 s.
      expect(performance.now() - abortedAt).toBeLessThan(15_000);
    }
    expect((await errorOf(fetchHere()(origin, { signal: AbortSignal.abort() }))).name).toBe("AbortError");
    respond = (_, response) => response.end("ok");
  });

  test("a reader that cancels closes the socket; a server that breaks off is an error, not an end", async () => {
    respond = (_, response) => response.writeHead(200).write("begun");
    const left = await fetchHere()(origin);
    await left.body?.cancel();
    await eventually(isClosed);

    respond = (request, response) => {
      response.writeHead(200, { "content-length": "100" }).write("begun");
      setImmediate(() => request.socket.destroy());
    };
    expect(await errorOf((await fetchHere()(origin)).text())).toBeInstanceOf(TypeError);
    respond = (_, response) => response.end("ok");
    await eventually(isClosed);
  });

  test("the direct fetch follows by the same rules: no credential to another origin, no file, at most five", async () => {
    const tls = { ca, serverName: "pinned.test", checkServerIdentity: () => undefined };
    const direct = (path: string, init: RequestInit = {}) => {
      seen = [];
      return directFetch(`https://127.0.0.1:${port}${path}`, { ...init, tls } as RequestInit);
    };
    respond = (request, response) =>
      request.url === "/end" ? response.end("there") : response.writeHead(307, { location: "/end" }).end();
    const init = { method: "POST", body: "b", headers: { "x-api-key": "k" } };
    expect(await (await direct("/start", init)).text()).toBe("there");
    expect(seen[1]).toMatchObject({ method: "POST", url: "/end", body: "b", headers: { "x-api-key": "k" } });

    respond = (request, response) =>
      request.url === "/end"
        ? response.end("there")
        : response.writeHead(302, { location: `https://localhost:${port}/end` }).end();
    const headers = { authorization: "Bearer k", "x-api-key": "k", "x-goog-api-key": "k", accept: "a/b" };
    expect(await (await direct("/start", { headers })).text()).toBe("there");
    expect(seen[1]?.headers).toMatchObject({ host: `localhost:${port}`, accept: "a/b" });
    expect(JSON.stringify(seen[1]?.headers)).not.toMatch(/"(Bearer )?k"/);
    respond = (_, response) => response.writeHead(307, { location: `https://localhost:${port}/end` }).end();
    expect(await errorOf(direct("/start", { method: "POST", body: "secret" }))).toBeInstanceOf(RefusedAddressError);

    for (const location of ["file:///etc/hostname", "data:text/plain,x"]) {
      respond = (_, response) => response.writeHead(302, { location }).end();
      expect([location, (await errorOf(direct("/"))).name]).toEqual([location, "RefusedAddressError"]);
    }
    respond = (_, response) => response.writeHead(302, { location: "/again" }).end();
    expect((await errorOf(direct("/"))).message).toContain("5 redirects");
    expect(seen.length).toBe(6);
    expect((await direct("/", { redirect: "manual" })).status).toBe(302);
    respond = (_, response) => response.end("ok");
  });

  test("the direct fetch closes its socket on abort too", async () => {
    seen = [];
    let closed = false;
    respond = (_, response) => {
      response.socket?.once("close", () => {
        closed = true;
      });
      response.writeHead(200).write("begun");
    };
    const stop = new AbortController();
    const init = { signal: stop.signal, tls: { ca, serverName: "pinned.test", checkServerIdentity: () => undefined } };
    const response = await directFetch(`https://127.0.0.1:${port}/`, init as RequestInit);
    expect(closed).toBe(false);
    const reading = response.text();
    stop.abort();
    expect((await errorOf(reading)).name).toBe("AbortError");
    await eventually(() => closed);
    respond = (_, response_) => response_.end("ok");
  });
});
