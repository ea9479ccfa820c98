import { connect, createServer, type Socket } from "node:net";

/** A way to a Postgres on which is noted what is said to it. */
export interface HeardPostgres extends AsyncDisposable {
  readonly url: string;
  /** The text of each statement that was executed, in order. */
  readonly said: string[];
  /** The names of statements that were prepared. */
  readonly prepared: Set<string>;
  /** The most sessions at a time so far. */
  connectionsMost(): number;
}

const tlsRequest = 80_877_103;
const cancelRequest = 80_877_102;

/** Starts a server that passes everything on to a Postgres and back. */
export async function hearPostgres(databaseUrl: string): Promise<HeardPostgres> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const said: string[] = [];
  const prepared = new Set<string>();
  let open = 0;
  let most = 0;
  const server = createServer((client) => {
    // What only asks to cancel a statement is no session.
    const onSession = () => {
      open += 1;
      most = Math.max(most, open);
      client.once("close", () => {
        open -= 1;
      });
    };
    const upstream = connect(Number(target.port), target.hostname);
    const listen = listener(said, prepared, onSession);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
      from.on("data", (data: Buffer) => {
        if (from === client) listen(data);
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
    said,
    prepared,
    connectionsMost: () => most,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns what is given the messages of a connection piece by piece. */
function listener(said: string[], prepared: Set<string>, onSession: () => void): (data: Buffer) => void {
  const statements = new Map<string, string>();
  let bound = "";
  let rest = Buffer.alloc(0);
  let isFirst = true;
  const hear = (message: Buffer) => {
    const words = message.subarray(5).toString("utf8").split("\0");
    const type = String.fromCharCode(message[0] as number);
    if (type === "Q") said.push(words[0] ?? "");
    if (type === "E") said.push(bound);
    if (type === "B") bound = statements.get(words[1] ?? "") ?? "";
    if (type !== "P") return;
    statements.set(words[0] ?? "", words[1] ?? "");
    if (words[0]) prepared.add(words[0]);
  };
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      if (rest.length < 5) return;
      const length = isFirst ? rest.readUInt32BE(0) : 1 + rest.readUInt32BE(1);
      if (rest.length < length) return;
      // A request for TLS, which the server refuses, is followed by the first message.
      if (isFirst) {
        const code = rest.readUInt32BE(4);
        isFirst = code === tlsRequest;
        if (code !== tlsRequest && code !== cancelRequest) onSession();
      } else hear(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}
