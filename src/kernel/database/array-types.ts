import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { message } from "./wire.ts";

/** Postgres' own types, as numbers that never change, and of each the type of its arrays. */
const arrayTypes: readonly (readonly [element: number, array: number])[] = [
  [16, 1000], // bool
  [17, 1001], // bytea
  [20, 1016], // int8
  [21, 1005], // int2
  [23, 1007], // int4
  [25, 1009], // text
  [26, 1028], // oid
  [114, 199], // json
  [700, 1021], // float4
  [701, 1022], // float8
  [1043, 1015], // varchar
  [1082, 1182], // date
  [1114, 1115], // timestamp
  [1184, 1185], // timestamptz
  [1700, 1231], // numeric
  [2950, 2951], // uuid
  [3802, 3807], // jsonb
];

/**
 * Answers, in the server's place, the driver's (3.4.9) first question on each new connection: which types are arrays.
 * Were it asked and the connection lost, nothing would handle that, and the process would end.
 */
export function answerArrayTypes(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  socket.write = (chunk: Uint8Array | string, ...args: unknown[]): boolean => {
    if (!Buffer.from(chunk as Uint8Array).includes("b.typarray")) return write(chunk, ...args);
    socket.write = write as Socket["write"];
    queueMicrotask(() => socket.emit("data", arrayTypesReply()));
    return true;
  };
}

/** Returns what a server would reply. */
function arrayTypesReply(): Buffer {
  return Buffer.concat([
    message("1"),
    message("t", int16(0)),
    message("T", int16(2), ...column("oid"), ...column("typarray")),
    ...arrayTypes.map((types) => message("D", int16(2), ...types.flatMap((type) => value(String(type))))),
    message("C", `SELECT ${arrayTypes.length}`),
    message("Z", Buffer.from("I")),
  ]);
}

const oidType = 26;

/** A column of no table, as text. */
function column(name: string): (string | Buffer)[] {
  return [name, int32(0), int16(0), int32(oidType), int16(4), int32(-1), int16(0)];
}

function value(text: string): Buffer[] {
  return [int32(text.length), Buffer.from(text)];
}

function int16(number: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(number);
  return bytes;
}

function int32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(number);
  return bytes;
}
