import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { headBytes, message } from "./wire.ts";

const readyForQuery = "Z".charCodeAt(0);
const errorResponse = "E".charCodeAt(0);

/**
 * Makes settings in a new session before the driver uses it, by a statement: poolers refuse them as start-up
 * parameters, and the driver (3.4.9) has no hook for it. What the server sends is passed on up to the first
 * "ready for query", which is held back until the settings are made. `statement` is SQL without parameters. When
 * it fails the connection is closed.
 */
export function beginSession(socket: Socket, statement: string): void {
  let unread = Buffer.alloc(0);
  let held: Buffer | null = null;
  const emit = socket.emit.bind(socket);

  /** Returns what is passed on of the message. */
  const take = (received: Buffer): Buffer | null => {
    if (held === null) {
      if (received[0] !== readyForQuery) return received;
      held = Buffer.from(received);
      socket.write(message("Q", statement));
      return null;
    }
    if (received[0] === errorResponse) socket.destroy();
    if (received[0] !== readyForQuery) return null;
    socket.emit = emit;
    return held;
  };

  socket.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== "data") return emit(event as "data", ...(args as [Buffer]));
    unread = Buffer.concat([unread, args[0] as Buffer]);
    const passed: Buffer[] = [];
    while (socket.emit !== emit && unread.length >= headBytes) {
      const length = 1 + unread.readUInt32BE(1);
      if (unread.length < length) break;
      const taken = take(unread.subarray(0, length));
      if (taken !== null) passed.push(taken);
      unread = unread.subarray(length);
    }
    if (socket.emit === emit) passed.push(unread);
    return passed.length === 0 ? true : emit("data", Buffer.concat(passed));
  };
}
