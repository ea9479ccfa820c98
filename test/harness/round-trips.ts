import { connect, createServer, type Socket } from "node:net";

/** A way to a Postgres on which the waits for it are counted. */
export interface CountedPostgres extends AsyncDisposable {
  readonly url: string;
  /** How often a client has waited for Postgres so far, all connections together. */
  count(): number;
}

/**
 * Starts a server that passes everything on to a Postgres and back, each reply `delayMs` later, and counts on connections
 * of this application, or on all.
 */
export async function countRoundTrips(
  databaseUrl: string,
  applicationName = "",
  delayMs = 0,
): Promise<CountedPostgres> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    // What is sent before there was an answer waits with what was sent before it.
    let isWaiting = false;
    // The first thing that a client says has its name.
    let isCounted: boolean | null = null;
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
      from.on("data", (data: Buffer) => {
        isCounted ??= data.includes(applicationName);
        if (from === client && !isWaiting && isCounted) count += 1;
        isWaiting = from === client;
        if (from === upstream && delayMs > 0) setTimeout(() => to.write(data), delayMs);
        else to.write(data);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    count: () => count,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
