import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { directFetch, type Fetch, guardedFetch } from "../../../src/kernel/outbound/fetch.ts";
import { fixedAuthorization } from "../../../src/mcp-connections/auth/authorization.ts";
import { discoverAuthorizationServer } from "../../../src/mcp-connections/auth/discovery.ts";
import { ServerCall } from "../../../src/mcp-connections/call/call.ts";
import { McpSession } from "../../../src/mcp-connections/call/session.ts";
import { boundedFetch } from "../../../src/mcp-connections/wire/bounded-fetch.ts";
import { failureOf, type McpFailure } from "../../../src/mcp-connections/wire/failure.ts";
import { inRepository } from "../../harness/repository.ts";
import { McpServer, textTool } from "../../servers/mcp.ts";

let mcp: McpServer;
const bytesMax = 1024 * 1024;
const open = (url: string, send: Fetch) =>
  McpSession.open(
    { url, send, authorization: fixedAuthorization("token-1"), protocolVersion: null },
    AbortSignal.timeout(5_000),
  );
const echo = { ...textTool("echo"), runsAsTask: false };
const callEcho = (session: McpSession, args: Record<string, unknown>, signal: AbortSignal | undefined) =>
  new ServerCall({ tool: echo, args, meta: {}, signal, onProgress: () => {} }).runOn(session);

beforeEach(() => {
  mcp = new McpServer();
});
afterEach(() => mcp.stop());

async function failure(promise: Promise<unknown>): Promise<McpFailure> {
  return failureOf(
    await promise.then(
      () => "it did not fail",
      (error: unknown) => error,
    ),
  );
}

describe("a server on the public internet", () => {
  /** TLS in front of the MCP server, for the names of the test certificate. */
  let front: Server;
  let url: string;
  let visits: string[] = [];
  const [ca, key] = ["cert", "key"].map((part) =>
    readFileSync(inRepository(`test/servers/tls/pinned.test.${part}.pem`), "utf8"),
  );
  let addresses: Record<string, string> = {};
  /** As in production, but this machine's one address counts as public. */
  const send = boundedFetch(
    guardedFetch({
      ca: ca as string,
      resolve: async (name) => [{ address: addresses[name] ?? "127.0.0.1", family: 4 }],
      isAllowed: (address) => address === "127.0.0.1",
    }),
    { allowPrivate: false, bytesMax },
  );

  beforeAll(async () => {
    front = createServer({ key: key as string, cert: ca as string }, async (request, response) => {
      visits.push(`${request.headers.host} ${request.url}`);
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const headers = Object.entries(request.headers).filter(([name]) => name !== "host") as [string, string][];
      const body = pieces.length === 0 ? null : Buffer.concat(pieces);
      const method = request.method as string;
      const sent = await fetch(`${mcp.origin}${request.url}`, { method, headers, body, redirect: "manual" });
      response.writeHead(sent.status, Object.fromEntries(sent.headers));
      for await (const piece of (sent.body ?? []) as AsyncIterable<Uint8Array>) response.write(piece);
      response.end();
    });
    await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
    url = `https://pinned.test:${(front.address() as AddressInfo).port}/mcp`;
  });
  afterAll(() => {
    front.closeAllConnections();
    front.close();
  });
  beforeEach(() => {
    visits = [];
    addresses = {};
  });

  test("is met, listed, called and left", async () => {
    const session = await open(url, send);
    expect((await session.tools()).map(({ name }) => name)).toEqual(["echo", "write"]);
    const result = await callEcho(session, { text: "hi" }, undefined);
    expect(result.content).toEqual([{ type: "text", text: '{"text":"hi"}' }]);
    expect(new Set(mcp.tokens)).toEqual(new Set(["token-1"]));
    await session.close();
    expect(mcp.openSessions).toBe(0);
  });

  test("mcp_connection_unreachable: its name leads to a private address", async () => {
    addresses = { "pinned.test": "10.0.0.1" };
    expect((await failure(open(url, send))).code).toBe("mcp_connection_unreachable");
  });

  for (const location of ["https://127.0.0.1/mcp", "https://169.254.169.254/latest", "http://pinned.test/mcp"])
    test(`mcp_connection_invalid: it redirects to ${location}`, async () => {
      mcp.settings.intercept = () => new Response(null, { status: 307, headers: { location } });
      expect((await failure(open(url, send))).code).toBe("mcp_connection_invalid");
      expect(visits.filter((visit) => !visit.startsWith("pinned.test:"))).toEqual([]);
    });

  test("mcp_connection_discovery_failed: it redirects to a public address elsewhere, and is not followed", async () => {
    mcp.settings.intercept = () =>
      new Response(null, { status: 307, headers: { location: url.replace("pinned", "elsewhere") } });
    expect((await failure(open(url, send))).code).toBe("mcp_connection_discovery_failed");
    expect(visits.filter((visit) => !visit.startsWith("pinned.test:"))).toEqual([]);
  });

  const hostile: [string, string, (request: Request) => Response | null][] = [
    [
      "authorization server",
      "mcp_connection_invalid",
      ({ url: asked }) =>
        asked.includes("/.well-known/oauth-protected-resource")
          ? Response.json({ resource: url, authorization_servers: ["https://10.0.0.1"] })
          : null,
    ],
    [
      "authorization server by name",
      "mcp_connection_unreachable",
      ({ url: asked }) =>
        asked.includes("/.well-known/oauth-protected-resource")
          ? Response.json({ resource: url, authorization_servers: ["https://elsewhere.test"] })
          : null,
    ],
  ];
  for (const [what, code, respond] of hostile)
    test(`that names a private ${what} leads nowhere: ${code}`, async () => {
      addresses = { "elsewhere.test": "192.168.1.1" };
      mcp.settings.intercept = (request) => respond(request) ?? new Response(null, { status: 401 });
      expect((await failure(discoverAuthorizationServer(send, url))).code).toBe(code as never);
      expect(visits.every((visit) => visit.startsWith("pinned.test"))).toBe(true);
    });
});

describe("responses", () => {
  const send = boundedFetch(directFetch, { allowPrivate: true, bytesMax });
  const events = (text: string) => new Response(text, { headers: { "content-type": "text/event-stream" } });

  /** Lets one tool call be served by hand; all else goes to the server. */
  function respondToCall(respond: (id: number) => Response, resumed: (lastEventId: string) => Response) {
    const resumptions: number[] = [];
    let callId = 0;
    mcp.settings.intercept = async (request) => {
      const lastEventId = request.headers.get("last-event-id");
      if (request.method === "GET" && lastEventId !== null) {
        resumptions.push(Date.now());
        return resumed(lastEventId.replace("ID", String(callId)));
      }
      const text = request.method === "POST" ? await request.clone().text() : "{}";
      const { method, id } = JSON.parse(text);
      if (method !== "tools/call") return null as never;
      callId = id;
      return respond(id);
    };
    return resumptions;
  }

  test("that are interrupted are resumed where they can be", async () => {
    const session = await open(mcp.url, send);
    const resumptions = respondToCall(
      () => events("id: event-ID\nretry: 10\ndata: \n\n"),
      (last) => {
        const result = { content: [{ type: "text", text: last }] };
        return events(`data: ${JSON.stringify({ jsonrpc: "2.0", id: Number(last.split("-")[1]), result })}\n\n`);
      },
    );
    const result = await callEcho(session, {}, undefined);
    expect(result.content).toMatchObject([{ text: expect.stringMatching(/^event-\d+$/) }]);
    expect(resumptions).toHaveLength(1);
    await session.close();
  });

  test("that never end are resumed at a pace of ours, and no longer than somebody waits", async () => {
    const session = await open(mcp.url, send);
    const resumptions = respondToCall(
      () => events("id: 1\nretry: 0\ndata: \n\n"),
      () => events("id: 2\nretry: 0\ndata: \n\n"),
    );
    const failed = failure(callEcho(session, {}, AbortSignal.timeout(1_300)));
    expect((await failed).code).toBe("mcp_connection_unreachable");
    expect(resumptions.length).toBeLessThanOrEqual(4);
    await session.close();
  });

  test("that end in the middle of an event are told at once", async () => {
    const session = await open(mcp.url, send);
    respondToCall(
      () => events('data: {"jsonrpc":"2.0","id'),
      () => new Response(null, { status: 405 }),
    );
    expect((await failure(callEcho(session, {}, undefined))).message).toContain("ended without a response");
    await session.close();
  });

  test("need no standing stream", async () => {
    const session = await open(mcp.url, send);
    await session.tools();
    await callEcho(session, {}, undefined);
    await session.close();
    expect(mcp.methods).toEqual([
      "server/discover",
      "initialize",
      "notifications/initialized",
      "tools/list",
      "tools/call",
      "DELETE",
    ]);
  });

  test("of a stream of events only a line, and all of it, are bounded: an hour of progress is long", async () => {
    const piece = `data: ${"x".repeat(1_000)}\n\n`;
    const count = Math.ceil((2 * bytesMax) / piece.length);
    const read = async (body: string, type: string) => {
      const served: Fetch = async () => new Response(body, { headers: { "content-type": type } });
      const bounded = boundedFetch(served, { allowPrivate: true, bytesMax, streamBytesMax: 3 * bytesMax });
      return (await (await bounded("https://example.com/")).text()).length;
    };
    expect(await read(piece.repeat(count), "text/event-stream")).toBe(count * piece.length);
    for (const [body, type] of [
      [piece.repeat(count), "application/json"],
      [piece.repeat(2 * count), "text/event-stream"],
      [`data: ${"x".repeat(bytesMax)}\n\n`, "text/event-stream"],
    ] as const)
      expect((await failure(read(body, type))).message).toContain("larger than");
  });

  test("over the bound end the request", async () => {
    mcp.settings.tools = [textTool("big", { description: "x".repeat(bytesMax) })];
    const session = await open(mcp.url, send);
    expect((await failure(session.tools())).code).toMatch(/discovery_failed|unreachable/);
    await session.close();
  });
});
