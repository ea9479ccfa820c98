import { Socket } from "node:net";
import { clearInterval, setImmediate, setInterval, setTimeout } from "node:timers";
import type { DatabaseAddress } from "./address.ts";
import { answerArrayTypes } from "./array-types.ts";
import { secured } from "./secured.ts";
import { beginSession } from "./session-start.ts";

/** The server that the driver connects to. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** Of a server on this machine that listens on a file. */
  readonly path: string | false;
}

/**
 * A socket for the database driver that closes without reporting an error. At an error
 * the driver (3.4.9) rejects the queries of the connection, and is told of the close a
 * moment later; a query made in between is never sent and never gets a response. At a
 * close without an error it rejects all queries, so a query on a broken network fails
 * at once and is repeated, in place of hanging until its deadline.
 */
class PlainlyEndingSocket extends Socket {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    return event === "close" ? super.emit("close", false) : super.emit(event, ...args);
  }
}

/** How a connection begins. */
export interface SessionOptions {
  /** Where it leads; the driver's own idea of that when left out. */
  readonly address?: DatabaseAddress;
  /** SQL that is run first (`beginSession`). */
  readonly begin?: string;
  /** Given each socket before it is used. */
  readonly onReady?: (socket: Socket) => void;
}

/** An option of the driver that its types lack: it opens all connections on such sockets. */
export function plainlyEnding(options: SessionOptions = {}): object {
  return { socket: (target: Target) => openForDriver(target, options) };
}

/** How often the received bytes are read. */
const sampleEveryMs = 1_000;

/**
 * The connections of a pool. One whose server disappeared without closing it, as in a
 * fail-over, would be kept, and get queries, until the operating system's time-out for
 * sent data: a quarter of an hour. The driver does not tell which connection a query is
 * on, so after a query without a response in time, all connections are closed that have
 * received nothing for as long. Closing an idle one does no harm.
 *
 * The bytes are counted at the system's socket, below TLS.
 */
export class Connections {
  readonly #received = new Map<Socket, { readonly bytes: number; readonly atMs: number }>();
  #sampling: NodeJS.Timeout | null = null;
  #again: NodeJS.Timeout | null = null;

  /** As `plainlyEnding`, for one pool. */
  readonly driverOption: object;
  readonly #options: SessionOptions;

  constructor(options: SessionOptions = {}) {
    this.#options = options;
    this.driverOption = { socket: (target: Target) => this.#open(target) };
  }

  async #open(target: Target): Promise<Socket> {
    const ready = await openForDriver(target, this.#options, (socket) => {
      this.#received.set(socket, { bytes: 0, atMs: performance.now() });
      this.#sampling ??= setInterval(() => this.#sample(), sampleEveryMs).unref();
    });
    // The driver (3.4.9) pauses it for what is copied out, and not always resumes it behind the last row. What is copied has bounds.
    ready.pause = () => ready;
    return ready;
  }

  /**
   * Closes the connections that have received nothing for `silentMs`; their queries
   * fail as on a broken connection. It does so once more `silentMs` later, for those that
   * were lost at the same time, but had received something shortly before.
   */
  closeSilent(silentMs: number): void {
    this.#closeSilent(silentMs);
    this.#again ??= setTimeout(() => {
      this.#again = null;
      this.#closeSilent(silentMs);
    }, silentMs).unref();
  }

  /** Closes all connections: the server is not the one to be asked any more. */
  closeAll(): void {
    this.#options.address?.forget();
    for (const socket of this.#received.keys()) socket.destroy();
  }

  #closeSilent(silentMs: number): void {
    this.#sample();
    const since = performance.now() - silentMs;
    for (const [socket, { atMs }] of this.#received) if (atMs <= since) socket.destroy();
  }

  #sample(): void {
    const atMs = performance.now();
    for (const [socket, { bytes }] of this.#received) {
      if (socket.destroyed) this.#received.delete(socket);
      else if (socket.bytesRead !== bytes) this.#received.set(socket, { bytes: socket.bytesRead, atMs });
    }
    if (this.#received.size > 0 || this.#sampling === null) return;
    clearInterval(this.#sampling);
    this.#sampling = null;
  }
}

/**
 * Returns a socket that may be written to at once. A server that cannot be reached is reported as its error:
 * the driver (3.4.9) never uses a connection again whose socket could not be made. `onOpen` is given the system's socket.
 */
async function open(
  { host, port, path }: Target,
  { address, begin, onReady }: SessionOptions,
  onOpen: (socket: Socket) => void = () => {},
): Promise<Socket> {
  const socket = new PlainlyEndingSocket();
  try {
    const target = (await address?.host()) ?? { host: host[0] ?? "localhost", port: port[0] ?? 5432 };
    Object.assign(path ? socket.connect(path) : socket.connect(target), target);
    socket.once("close", () => address?.forget());
    onOpen(socket);
    const ready = address?.tls ? await secured(socket, target.host, address.tls) : socket;
    if (begin !== undefined) beginSession(ready, begin);
    onReady?.(ready);
    return ready;
  } catch (error) {
    const failed = new PlainlyEndingSocket();
    setImmediate(() => failed.destroy(error as Error));
    return failed;
  }
}

async function openForDriver(...args: Parameters<typeof open>): Promise<Socket> {
  const ready = await open(...args);
  answerArrayTypes(ready);
  return ready;
}

/** Returns a socket to the server that the address leads to, that may be written to at once. */
export function openSocket(options: SessionOptions & { readonly address: DatabaseAddress }): Promise<Socket> {
  return open({ host: [], port: [], path: false }, options);
}

/** Returns a socket for `pg`, which connects to the host that the address leads to, whatever host it is given. */
export function addressedSocket(address: DatabaseAddress): Socket {
  return new AddressedSocket(address);
}

class AddressedSocket extends Socket {
  readonly #address: DatabaseAddress;

  constructor(address: DatabaseAddress) {
    super();
    this.#address = address;
    this.once("close", () => address.forget());
  }

  override connect(...args: unknown[]): this {
    const [given] = args;
    if (typeof given === "object" && given !== null) return super.connect(given as { host: string; port: number });
    this.#address.host().then(
      (target) => this.destroyed || super.connect(target),
      (error) => this.destroy(error),
    );
    return this;
  }
}
