import { expect, test } from "bun:test";
import { encodeFrame, FrameReader } from "../../src/workspaces/frames.ts";

const messages = [
  { type: "run", files: [{ path: "ä", content: new Uint8Array([1, 2, 3]) }], none: null },
  { contents: [new Uint8Array(), null, new Uint8Array(1000).fill(7), new Uint8Array()] },
  "beat",
];

test("messages come out as they went in, in pieces of any size", () => {
  const bytes = Buffer.concat(messages.map(encodeFrame));
  for (const size of [1, 2, 3, 5, 100, 4096]) {
    const reader = new FrameReader(10_000);
    const read: unknown[] = [];
    for (let at = 0; at < bytes.byteLength; at += size) read.push(...reader.push(bytes.subarray(at, at + size)));
    expect(read).toEqual(messages);
  }
});

test("a frame that is too large, or whose lengths are none, is refused before it has come", () => {
  const [large] = [new Uint8Array(10_001)];
  expect(() => new FrameReader(10_000).push(encodeFrame(large).subarray(0, 200))).toThrow("too large");
  for (const blobs of ["[-1]", "[1.5]", "[1e300]", "[9000,9000]"]) {
    const head = Buffer.from(`0000{"message":1,"blobs":${blobs}}`);
    head.writeUInt32BE(head.byteLength - 4);
    expect(() => new FrameReader(10_000).push(head)).toThrow("too large");
  }
  expect(() => new FrameReader(10_000).push(Buffer.from([255, 255, 255, 255]))).toThrow("too large");
});
