import type { Chunk } from "../harness/stream-reader.ts";
import type { Reading } from "./record.ts";

/** Reads a stream into `reading`, as far as `leaveAfterChunks`. Throws when the connection breaks. */
export async function readEvents(response: Response, reading: Reading, leaveAfterChunks: number): Promise<void> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) take(reading, block);
    if (reading.chunks.length < leaveAfterChunks || reading.finished) continue;
    reading.left = true;
    await reader.cancel();
    return;
  }
}

function take(reading: Reading, block: string): void {
  const data = /^data: (.*)$/m.exec(block)?.[1];
  if (data === undefined) return;
  if (data === "[DONE]") {
    reading.finished = true;
    return;
  }
  reading.ids.push(/^id: (.*)$/m.exec(block)?.[1] ?? "");
  reading.chunks.push(JSON.parse(data) as Chunk);
}
