import { Buffer } from "node:buffer";
import { isIP, type Socket } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import type { Tls } from "./address.ts";

/** Asks the server for TLS: the length of the message and its number. */
const request = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** The code of the error that tells of a server without TLS. */
export const noTlsCode = "NO_TLS";

/**
 * Returns the socket with TLS on it, as the driver (3.4.9) would make it by itself, which it cannot do where
 * the session begins with statements of ours. Rejects when the server has none, or another certificate.
 */
export async function secured(socket: Socket, host: string, tls: Exclude<Tls, false>): Promise<Socket> {
  socket.write(request);
  const answer = await new Promise<Buffer>((resolve, reject) => {
    socket.once("data", resolve);
    socket.once("error", reject);
    socket.once("close", () => reject(Object.assign(new Error("The connection closed."), { code: "ECONNRESET" })));
  });
  socket.removeAllListeners("error");
  if (answer.toString() !== "S") {
    if (tls.isOptional) return socket;
    socket.destroy();
    throw Object.assign(new Error("The server has no TLS."), { code: noTlsCode });
  }
  const options = { socket, rejectUnauthorized: tls.verifies, ...(isIP(host) ? {} : { servername: host }) };
  const secure = await new Promise<TLSSocket>((resolve, reject) => {
    const made = connect(options, () => resolve(made));
    made.once("error", reject);
    made.once("close", () => reject(new Error("The connection closed.")));
  });
  secure.removeAllListeners("error");
  // As `PlainlyEndingSocket` does.
  const emit = secure.emit.bind(secure);
  secure.emit = (event: string | symbol, ...args: unknown[]): boolean =>
    emit(event as "close", ...((event === "close" ? [false] : args) as [boolean]));
  return secure;
}
