import { describe, expect, test } from "bun:test";
import { pack } from "tar-stream";
import { readArchive } from "../../../src/workspaces/bubblewrap/archive.ts";
import { PipeError } from "../../../src/workspaces/bubblewrap/pipe-reader.ts";

describe("an archive that comes out of a sandbox", () => {
  const asked = new Map([["a", 3]]);
  const file = (name: string, content: string) => {
    const archive = pack();
    archive.entry({ name }, content);
    archive.finalize();
    return archive as unknown as AsyncIterable<Uint8Array>;
  };
  async function* pieces(...all: Uint8Array[]) {
    yield* all;
  }

  test("has what was asked for", async () => {
    expect(await readArchive(file("a", "abc"), asked)).toEqual(new Map([["a", Buffer.from("abc")]]));
  });

  test.each([
    ["another name", () => file("../a", "abc")],
    ["another size", () => file("a", "abcd")],
    ["no archive", () => pieces(Buffer.alloc(2048, "x"))],
    ["an end in the middle", () => pieces(Buffer.alloc(100))],
  ])("is refused with %s, as a command that broke off", async (_, archive) => {
    await expect(readArchive(archive(), asked)).rejects.toBeInstanceOf(PipeError);
  });
});
