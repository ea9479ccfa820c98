import { Socket } from "node:net";
import { clearInterval, setInterval, setTimeout } from "node:timers";

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

/** How often it is looked who has received something. */
const lookEveryMs = 1_000;

/**
 * The connections of a pool. One whose server vanished without a word, as in a
 * fail-over, would be kept, and be given queries, until the system gives up what
 * it sent: after a quarter of an hour. The driver does not tell which connection a
 * query is on, so after a query that was not answered in time all are given up
 * that have received nothing for as long. One that was idle is no loss.
 *
 * What counts are the bytes that the system's socket received, which are seen
 * below TLS as well.
 */
export class Connections {
  readonly #received = new Map<Socket, { readonly bytes: number; readonly atMs: number }>();
  #looking: NodeJS.Timeout | null = null;
  #again: NodeJS.Timeout | null = null;

  /** As `plainlyEnding`, for one pool. */
  readonly driverOption: object = { socket: (target: Target) => this.#open(target) };

  #open(target: Target): Socket {
    const socket = open(target);
    this.#received.set(socket, { bytes: 0, atMs: performance.now() });
    this.#looking ??= setInterval(() => this.#look(), lookEveryMs).unref();
    return socket;
  }

  /**
   * Closes those that have received nothing for so long; what was asked on them
   * fails as on a broken connection. So long afterwards it does so once more, for
   * those that were lost together with the others, but had received something last.
   */
  closeSilent(silentMs: number): void {
    this.#closeSilent(silentMs);
    this.#again ??= setTimeout(() => {
      this.#again = null;
      this.#closeSilent(silentMs);
    }, silentMs).unref();
  }

  #closeSilent(silentMs: number): void {
    this.#look();
    const since = performance.now() - silentMs;
    for (const [socket, { atMs }] of this.#received) if (atMs <= since) socket.destroy();
  }

  #look(): void {
    const atMs = performance.now();
    for (const [socket, { bytes }] of this.#received) {
      if (socket.destroyed) this.#received.delete(socket);
      else if (socket.bytesRead !== bytes) this.#received.set(socket, { bytes: socket.bytesRead, atMs });
    }
    if (this.#received.size > 0 || this.#looking === null) return;
    clearInterval(this.#looking);
    this.#looking = null;
  }
}

/** The socket may be written to at once; a server that cannot be reached is heard of as an error. */
function open({ host, port, path }: Target): Socket {
  const socket = new PlainlyEndingSocket();
  if (path) return socket.connect(path);
  const target = { host: host[0] ?? "localhost", port: port[0] ?? 5432 };
  return Object.assign(socket.connect(target), target);
}
