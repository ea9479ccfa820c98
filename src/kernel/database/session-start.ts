import { Buffer } from "node:buffer";
import type { Socket } from "node:net";

const readyForQuery = "Z".charCodeAt(0);
const errorResponse = "E".charCodeAt(0);
/** A message's type and its length, which counts itself. */
const headBytes = 5;

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
  const take = (message: Buffer): Buffer | null => {
    if (held === null) {
      if (message[0] !== readyForQuery) return message;
      held = Buffer.from(message);
      socket.write(queryMessage(statement));
      return null;
    }
    if (message[0] === errorResponse) socket.destroy();
    if (message[0] !== readyForQuery) return null;
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
      const message = take(unread.subarray(0, length));
      if (message !== null) passed.push(message);
      unread = unread.subarray(length);
    }
    if (socket.emit === emit) passed.push(unread);
    return passed.length === 0 ? true : emit("data", Buffer.concat(passed));
  };
}

function queryMessage(statement: string): Buffer {
  const text = Buffer.from(`${statement}\0`);
  const head = Buffer.alloc(headBytes);
  head.write("Q");
  head.writeUInt32BE(headBytes - 1 + text.length, 1);
  return Buffer.concat([head, text]);
}
