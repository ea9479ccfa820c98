import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { DatabaseAddress } from "./address.ts";
import type { PooledConnections } from "./pooled-connections.ts";
import { openSocket } from "./socket.ts";

/** A connection to a pooler in transaction mode for `pg`, with TLS as the address says; whatever host `pg` gives it. */
export class PooledStream extends Duplex {
  readonly #address: DatabaseAddress;
  readonly #connections: PooledConnections;
  #socket: Socket | null = null;

  constructor(address: DatabaseAddress, connections: PooledConnections) {
    super();
    this.#address = address;
    this.#connections = connections;
  }

  /** Connects, and tells so once it may be written to. */
  connect(): this {
    const onReady = (socket: Socket) => this.#connections.attach(socket);
    void openSocket({ address: this.#address, onReady }).then((socket) => {
      if (this.destroyed) return void socket.destroy();
      this.#socket = socket;
      socket.on("data", (data) => void (this.push(data) || socket.pause()));
      socket.once("error", (error) => this.destroy(error));
      socket.once("close", () => this.destroy());
      this.emit("connect");
    });
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    this.#socket?.ref();
    return this;
  }

  unref(): this {
    this.#socket?.unref();
    return this;
  }

  override _read(): void {
    this.#socket?.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket?.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket?.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket?.destroy();
    done(error);
  }
}
