import { Socket } from "node:net";

/** What the driver says about the server it wants to reach. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** Of a server on this machine that listens on a file. */
  readonly path: string | false;
}

/**
 * A socket for the database driver whose end is an end, and never also an error.
 * The driver (3.4.9) gives up what was asked on a connection when it hears of an
 * error, and hears of the end a moment later; what is asked in between is sent
 * nowhere and answered by nobody. At an end without an error it gives up
 * everything, so that a query met by a broken network fails at once and is asked
 * again, in place of hanging until its deadline.
 */
class PlainlyEndingSocket extends Socket {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    return event === "close" ? super.emit("close", false) : super.emit(event, ...args);
  }
}

/** An option of the driver that its types do not know: it makes all connections on such sockets. */
export const plainlyEnding: object = { socket: open };

/** The socket may be written to at once; a server that cannot be reached is heard of as an error. */
function open({ host, port, path }: Target): Socket {
  const socket = new PlainlyEndingSocket();
  if (path) return socket.connect(path);
  const target = { host: host[0] ?? "localhost", port: port[0] ?? 5432 };
  return Object.assign(socket.connect(target), target);
}
