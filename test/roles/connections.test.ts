import { afterAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { readBytes } from "../../src/kernel/bounded-read.ts";
import { listen } from "../../src/kernel/runtime.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { takePort } from "../../src/roles/http.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { startInstallation } from "../harness/processes.ts";
import { chosenRuntime } from "../harness/runtimes.ts";

/** A connection, and what came over it so far. */
function open(port: number, text = "") {
  const socket = connect(port, "127.0.0.1");
  const state = { received: "", closed: false };
  socket.on("data", (data) => {
    state.received += data;
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    state.closed = true;
  });
  if (text !== "") socket.write(text);
  return { socket, state };
}

const post = (path: string, headers: readonly string[]) =>
  [`POST ${path} HTTP/1.1`, "Host: parley", ...headers, "", ""].join("\r\n");

/** Far beyond the limits, for a busy machine. */
const limitMs = 60_000;

describe("a connection", () => {
  const silenceMs = 2_000;
  const server = listen({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      try {
        const wholeMsMax = request.url.endsWith("/strange") ? 2 * silenceMs : 100 * silenceMs;
        const body = await readBytes(request, 1_000, { silenceMsMax: silenceMs, wholeMsMax });
        return new Response(`${body.byteLength} bytes`);
      } catch (error) {
        const { message, headers } = error as { message: string; headers: Record<string, string> };
        return new Response(message, { status: 400, headers });
      }
    },
  });
  afterAll(() => server.stop(true));

  test.concurrent("whose body may take so long in all is closed then, however often a byte comes", async () => {
    const slow = open(server.port, post("/strange", ["Content-Length: 500"]));
    const timer = setInterval(() => slow.socket.write("x"), silenceMs / 8);
    await eventually(() => slow.state.closed, limitMs);
    clearInterval(timer);
    expect(slow.state.received).toContain("did not come within 4 s");
  });

  test.concurrent("whose body stops coming is closed; one whose body comes slowly is not", async () => {
    const silent = open(server.port, `${post("/", ["Content-Length: 4"])}a`);
    const slow = open(server.port, post("/", ["Content-Length: 10"]));
    let sent = 0;
    const timer = setInterval(() => {
      sent += 1;
      slow.socket.write("x");
      if (sent === 10) clearInterval(timer);
    }, silenceMs / 8);
    await eventually(() => silent.state.closed, limitMs);
    expect(silent.state.received).toContain("No byte of the body came");
    await eventually(() => slow.state.received.includes("10 bytes"), limitMs);
    slow.socket.destroy();
  });

  test.concurrent(
    "without all of its headers is closed",
    async () => {
      const [nothing, half] = [open(server.port), open(server.port, "GET / HTTP/1.1\r\nHost: parley\r\nX-")];
      const trickle = setInterval(() => half.socket.writable && half.socket.write("a"), 500);
      await eventually(() => nothing.state.closed && half.state.closed, limitMs);
      clearInterval(trickle);
      expect(half.state.received).not.toContain("200 OK");
    },
    limitMs + 5_000,
  );
});

describe("an HTTP process", () => {
  test("listens only once it can serve", async () => {
    await using installation = await startInstallation();
    const port = await freePort();
    const blocker = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    // The start waits for what it asks of the database first.
    const holding = installation.sql.begin(async (tx) => {
      await tx`lock table schema_migrations in access exclusive mode`;
      locked.resolve();
      await blocker.promise;
    });
    await locked.promise;
    let refused = 0;
    const starting = installation.serve({ PORT: String(port) });
    const statuses = new Set<number>();
    try {
      await eventually(async () => {
        const waiting = await installation.sql`
          select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return waiting.length > 0;
      }, limitMs);
      await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => {
        refused += 1;
      });
      expect(refused).toBe(1);
    } finally {
      blocker.resolve();
      await holding;
    }
    await eventually(async () => {
      const response = await fetch(`http://127.0.0.1:${port}/v1/agents`).catch(() => null);
      if (response !== null) statuses.add(response.status);
      return response !== null;
    }, limitMs);
    await starting;
    expect([...statuses]).toEqual([401]);
    // Each of its two services has a second or two for a probe.
    const ready = await eventually(async () => {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`);
      const body = (await response.json()) as { status: string; checks: object };
      return body.status === "ready" ? [response.status, body] : null;
    }, limitMs);
    expect(ready).toEqual([200, { status: "ready", checks: { database: "ok", relay: "ok" } }]);
  }, 120_000);

  test("closes the connection of a refused request whose body never comes, and keeps that of one whose body came", async () => {
    await using installation = await startInstallation();
    const http = await installation.serve();
    const { token } = await installation.client(http.url);
    const credential = `Authorization: Bearer ${token}`;
    const refusals: [status: number, text: string][] = [
      [401, post("/v1/agents", ["Content-Length: 10"])],
      [401, `${post("/v1/agents", ["Content-Length: 10"])}{`],
      [401, post("/v1/agents", ["Transfer-Encoding: chunked"])],
      [404, post("/v1/nothing", ["Content-Length: 10"])],
      [413, post("/v1/agents", [`Content-Length: ${9 * 1024 * 1024}`, credential, "Content-Type: application/json"])],
      [405, post("/healthz", ["Content-Length: 10"])],
      [405, post("/readyz", ["Content-Length: 10"]).replace("POST", "PUT")],
    ];
    const silent = refusals.map(([status, text]) => ({ status, ...open(http.port, text) }));
    // Deno responds as well, but leaves the connection to the client (docs/deno.md).
    const onDeno = chosenRuntime === "deno";
    await eventually(() => silent.every(({ state }) => state.closed || (onDeno && state.received !== "")), limitMs);
    for (const { status, state } of silent) {
      expect(state.received).toStartWith(`HTTP/1.1 ${status} `);
      if (!onDeno) expect(state.received.toLowerCase()).toContain("\r\nconnection: close\r\n");
    }
    const { socket, state } = open(http.port, `${post("/v1/agents", ["Content-Length: 2"])}{}`);
    await eventually(() => state.received.includes("}}"), limitMs);
    expect(state.received.toLowerCase()).not.toContain("connection: close");
    socket.write("GET /healthz HTTP/1.1\r\nHost: parley\r\n\r\n");
    await eventually(() => state.received.includes("HTTP/1.1 200 OK"), limitMs);
    socket.destroy();
    // Nothing of a response is lost where a client sends all that it has first.
    const body = new Uint8Array(20 * 1024 * 1024);
    expect((await fetch(`${http.url}/v1/agents`, { method: "POST", body })).status).toBe(401);
  }, 120_000);

  test("says in one line that a client went away in the middle of its body, and that no error", async () => {
    await using installation = await startInstallation();
    const http = await installation.serve();
    const { token } = await installation.client(http.url);
    const requestId = "gone-in-mid-body";
    const credential = `Authorization: Bearer ${token}`;
    const head = ["Content-Type: application/json", "Content-Length: 100", credential, `X-Request-Id: ${requestId}`];
    const gone = open(http.port);
    await new Promise((sent) => gone.socket.write(`${post("/v1/agents", head)}{`, sent));
    // A later request that has its response shows that the first one is being read.
    await fetch(`${http.url}/v1/agents`, { headers: { authorization: `Bearer ${token}` } });
    gone.socket.destroy();
    await eventually(() => http.log.some((line) => line.requestId === requestId), limitMs);
    const lines = http.log.filter((line) => line.requestId === requestId);
    expect(lines.map(({ level, msg, status }) => [level, msg, status])).toEqual([["info", "request", 400]]);
    expect(http.log.filter(({ level }) => level === "error")).toEqual([]);
    expect(http.noise).toEqual([]);
  }, 120_000);
});

test("a port that the system chose is held from the start", async () => {
  const listener = await takePort({ host: "127.0.0.1", port: 0, publicUrl: null }, createLogger("silent"));
  const early = await fetch(`${listener.publicUrl}/v1/agents`);
  expect([early.status, early.headers.get("retry-after")]).toEqual([503, "1"]);
  listener.open(async () => new Response("open"));
  expect(await (await fetch(listener.publicUrl)).text()).toBe("open");
  await listener.drain(0);
});
