import { connect, createServer, type Socket } from "node:net";

/** A way to a Postgres on which its responses are counted. */
export interface CountedPostgres extends AsyncDisposable {
  readonly url: string;
  /** How often a client has waited for Postgres so far, all connections together. */
  count(): number;
}

/** What Postgres sends when it has worked off what a client sent, and waits for more. */
const readyForQuery = "Z".charCodeAt(0);

/** Starts a server that passes everything on to a Postgres and back. */
export async function countRoundTrips(databaseUrl: string): Promise<CountedPostgres> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const look = messageReader((type) => {
      if (type === readyForQuery) count += 1;
    });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
      from.on("data", (data: Buffer) => {
        if (from === upstream) look(data);
        to.write(data);
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

/** Returns what is given a stream of Postgres' messages piece by piece, and tells the type of each. */
function messageReader(tell: (type: number) => void): (data: Buffer) => void {
  let rest = Buffer.alloc(0);
  let toSkip = 0;
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const skipped = Math.min(toSkip, rest.length);
      toSkip -= skipped;
      rest = rest.subarray(skipped);
      if (toSkip > 0 || rest.length < 5) return;
      tell(rest[0] as number);
      toSkip = rest.readUInt32BE(1) + 1;
    }
  };
}
