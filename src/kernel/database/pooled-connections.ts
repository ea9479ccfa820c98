import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers";
import type { DatabaseAddress } from "./address.ts";
import type { TransactionSettings } from "./pooler-limits.ts";
import { limitStatement } from "./pooler-limits.ts";
import { PoolerSpeech } from "./pooler-speech.ts";
import { ServerClock } from "./server-clock.ts";

/** How the driver knows a connection. */
interface Backend {
  readonly pid: number | null;
  readonly secret: number | null;
}

const clocks = new WeakMap<DatabaseAddress, ServerClock>();

/** The connections of a pool that leads through a pooler in transaction mode (`PoolerSpeech`). */
export class PooledConnections {
  readonly #clock: ServerClock;
  readonly #settings: TransactionSettings;
  readonly #speeches = new Map<string, PoolerSpeech>();

  constructor(address: DatabaseAddress, settings: TransactionSettings = {}) {
    this.#settings = settings;
    this.#clock = clocks.get(address) ?? new ServerClock();
    clocks.set(address, this.#clock);
  }

  /** Translates what is said on a socket from now on. */
  attach(socket: Socket): void {
    const clock = this.#clock;
    let key = "";
    const onKey = (given: string) => {
      key = given;
      this.#speeches.set(key, speech);
    };
    const close = () => void socket.destroy();
    const speech = new PoolerSpeech({ clock, settings: this.#settings, close, onKey });
    socket.once("close", () => this.#speeches.delete(key));
    const emit = socket.emit.bind(socket) as (event: string | symbol, ...args: unknown[]) => boolean;
    socket.emit = (event: string | symbol, ...args: unknown[]): boolean => {
      if (event === "close") return endPlainly(socket, () => emit("close", ...args));
      if (event !== "data") return emit(event, ...args);
      const passed = speech.incoming(args[0] as Buffer);
      return passed.length === 0 || emit("data", passed);
    };
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    socket.write = (chunk: Uint8Array | string, ...args: unknown[]): boolean => {
      const sent = speech.outgoing(Buffer.from(chunk as Uint8Array));
      return sent.length === 0 || write(sent, ...args);
    };
  }

  /** Tells when the caller of a statement stops waiting, which is sent on this connection next; `expiresAt` is by `Date.now()`. */
  limit({ pid, secret }: Backend, expiresAt: number): void {
    const speech = this.#speeches.get(`${pid}:${secret}`);
    if (speech !== undefined) speech.untilMs = steadyMs(expiresAt);
  }

  /** Returns a statement that fails, and with it its transaction, when the caller does not wait any more. */
  limitOf(expiresAt: number): string {
    return limitStatement(this.#clock, steadyMs(expiresAt), this.#settings);
  }
}

/**
 * Tells of a closed connection as of a broken one: an error first, and the close a little later. The driver (3.4.9) rolls a
 * transaction back whose statement has failed, and throws for want of a socket where that was closed meanwhile.
 */
function endPlainly(socket: Socket, close: () => void): boolean {
  const error = Object.assign(new Error("The connection closed."), { code: "ECONNRESET" });
  if (socket.listenerCount("error") > 0) socket.emit("error", error);
  setImmediate(() => setImmediate(close));
  return true;
}

/** Returns a time of `Date.now()` by `performance.now()`. */
function steadyMs(time: number): number {
  return performance.now() + (time - Date.now());
}
