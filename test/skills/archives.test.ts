import { describe, expect, test } from "bun:test";
import { crc32, gzipSync } from "node:zlib";
import { ApiError } from "../../src/kernel/errors.ts";
import { unpack } from "../../src/skills/archive.ts";
import type { ArchiveType } from "../../src/skills/schema.ts";
import { pax, skillMd, type TarFile, tar, tarGz, type ZipFile, zip } from "../harness/archives.ts";

const mib = 1024 * 1024;
const md = skillMd();
const inZip: ZipFile = { name: "SKILL.md", data: md };
const inTar: TarFile = { name: "SKILL.md", data: md };
/** Bytes that no compression makes smaller. */
const noise = (length: number) => {
  const bytes = Buffer.alloc(length);
  for (let at = 0, value = 1; at < length; at++) {
    value = (value * 1_103_515_245 + 12_345) & 0x7fffffff;
    bytes[at] = value >>> 16;
  }
  return bytes;
};

/** Info-ZIP's field for the name of an entry in Unicode, made for the name `beside` it. */
const unicodePath = (beside: string, name: string) => {
  const field = Buffer.concat([Buffer.alloc(9), Buffer.from(name)]);
  field.writeUInt16LE(0x7075, 0);
  field.writeUInt16LE(field.length - 4, 2);
  field[4] = 1;
  field.writeUInt32LE(crc32(beside), 5);
  return field;
};

/** The files of an archive by path, or the cause it is refused with. */
async function outcome(type: ArchiveType, archive: Uint8Array): Promise<unknown> {
  try {
    const folder = await unpack(type, archive);
    return Object.fromEntries([...folder].map(([path, content]) => [path, Buffer.from(content).toString()]));
  } catch (error) {
    if (error instanceof ApiError) return error.reason;
    throw error;
  }
}

const zipped = (...files: ZipFile[]) => outcome("zip", zip([inZip, ...files]));
const tarred = async (...files: TarFile[]) => {
  const plain = await outcome("tar", tar([inTar, ...files]));
  expect(await outcome("tar.gz", tarGz([inTar, ...files]))).toEqual(plain);
  return plain;
};

describe("archives that are accepted", () => {
  test("zip, tar and tar.gz with folders, empty files, long and Unicode names", async () => {
    const deep = `${"long-folder-name/".repeat(4)}größe 😀.txt`;
    const expected = { "SKILL.md": md, "docs/a.md": "A", empty: "", [deep]: "deep" };
    expect(
      await zipped(
        { name: "docs/" },
        { name: "docs/a.md", data: "A" },
        { name: "empty", method: 0 },
        { name: deep, data: "deep" },
      ),
    ).toEqual(expected);
    expect(
      await tarred(
        { name: "docs/", type: "5" },
        { name: "docs/a.md", data: "A" },
        { name: "empty" },
        pax({ path: deep }),
        { name: "short", data: "deep" },
      ),
    ).toEqual(expected);
  });

  test("./ at the start is stripped", async () => {
    const expected = { "SKILL.md": md, "a/b": "B" };
    expect(
      await outcome("zip", zip([{ name: "./" }, { name: "./SKILL.md", data: md }, { name: "././a/b", data: "B" }])),
    ).toEqual(expected);
    const files: TarFile[] = [
      { name: "./", type: "5" },
      { name: "./SKILL.md", data: md },
      { name: "./a/", type: "5" },
      { name: "./a/b", data: "B" },
    ];
    expect(await outcome("tar.gz", tarGz(files))).toEqual(expected);
  });

  test("zip: stored, streamed (sizes after the data), with a comment, with Unix modes", async () => {
    const files: ZipFile[] = [
      { ...inZip, streamed: true, mode: 0o100644 },
      { name: "b", data: "B", method: 0, mode: 0o100755 },
      { name: "c/", mode: 0o040755 },
      { name: "d", data: "D", mode: 0o644 },
    ];
    expect(await outcome("zip", zip(files, { comment: "made by hand" }))).toEqual({ "SKILL.md": md, b: "B", d: "D" });
  });

  test("tar: pax headers global and local, GNU long names, old-fashioned folders, no closing blocks", async () => {
    const long = `${"x".repeat(120)}/y`;
    expect(
      await tarred(
        pax({ comment: "of all" }, "g"),
        pax({ mtime: "1700000000.5", uname: "größe" }),
        { name: "a", data: "A" },
        { name: "././@LongLink", type: "L", data: `${long}\0` },
        { name: "x", data: "Y" },
        { name: "folder/", type: "0" },
      ),
    ).toEqual({ "SKILL.md": md, a: "A", [long]: "Y" });
    expect(await outcome("tar", tar([inTar], false))).toEqual({ "SKILL.md": md });
  });

  test("one folder around everything, and what macOS and Windows add, are taken away", async () => {
    const expected = { "SKILL.md": md, "docs/a.md": "A" };
    const files = [
      { name: "Tea/SKILL.md", data: md },
      { name: "Tea/docs/a.md", data: "A" },
    ];
    const added = [
      { name: "__MACOSX/Tea/._SKILL.md", data: "x" },
      { name: "Tea/.DS_Store", data: "x" },
      { name: "Tea/docs/._a.md", data: "x" },
      { name: "Tea/Thumbs.db", data: "x" },
      { name: "Tea/docs/Desktop.ini", data: "x" },
      { name: "._Tea", data: "x" },
    ];
    expect(await outcome("zip", zip([{ name: "Tea/" }, ...files, ...added, { name: "__MACOSX/" }]))).toEqual(expected);
    const inTars: TarFile[] = [{ name: "./", type: "5" }, { name: "Tea/", type: "5" }, ...added, ...files];
    expect(await outcome("tar", tar(inTars))).toEqual(expected);
    expect(await outcome("tar.gz", tarGz(inTars))).toEqual(expected);
    // A second folder or file beside it makes it a folder like others.
    for (const beside of ["README.md", "Coffee/SKILL.md"])
      expect(await outcome("zip", zip([...files, { name: beside, data: "x" }]))).toBe("skill_invalid_archive");
    expect(await zipped(...files)).toEqual({ "SKILL.md": md, "Tea/SKILL.md": md, "Tea/docs/a.md": "A" });
    // They count for nothing: not as files, not as duplicates.
    const many = Array.from({ length: 150 }, (_, index) => ({ name: `__MACOSX/._${index}`, data: "x" }));
    expect(await zipped(...many, { name: ".DS_Store" }, { name: ".DS_Store" })).toEqual({ "SKILL.md": md });
  });

  test("zip: names with backslashes, in old code pages, in a field of their own, and an entry /", async () => {
    const expected = { "SKILL.md": md, "docs/größe.md": "A" };
    const cp437 = Buffer.from("docs/gr\x94\xe1e.md", "latin1");
    const dos = { flags: 0, data: "A" };
    expect(await outcome("zip", zip([{ name: "/" }, inZip, { name: cp437, ...dos }]))).toEqual(expected);
    expect(await outcome("zip", zip([inZip, { name: "docs/größe.md", ...dos }]))).toEqual(expected);
    expect(
      await outcome(
        "zip",
        zip([{ name: "Tea\\" }, { name: "Tea\\SKILL.md", data: md }, { name: "Tea\\docs\\größe.md", data: "A" }]),
      ),
    ).toEqual(expected);
    const named = (name: string, beside: string): ZipFile => ({
      ...dos,
      name,
      extra: unicodePath(beside, "docs/größe.md"),
    });
    expect(await outcome("zip", zip([inZip, named("docs/gr__e.md", "docs/gr__e.md")]))).toEqual(expected);
    // Of a field for another name nothing is known.
    expect(await outcome("zip", zip([inZip, named("renamed.md", "docs/gr__e.md")]))).toEqual({
      "SKILL.md": md,
      "renamed.md": "A",
    });
  });

  test("exactly 100 files and exactly 10 MiB", async () => {
    const files = Array.from({ length: 99 }, (_, index) => ({ name: `f${index}`, data: "x" }));
    expect(Object.keys((await zipped(...files)) as object)).toHaveLength(100);
    expect(Object.keys((await tarred(...files)) as object)).toHaveLength(100);
    const rest = Buffer.alloc(10 * mib - Buffer.byteLength(md));
    expect((await unpack("zip", zip([inZip, { name: "big", data: rest }]))).get("big")?.byteLength).toBe(rest.length);
    expect((await unpack("tar.gz", tarGz([inTar, { name: "big", data: rest }]))).get("big")?.byteLength).toBe(
      rest.length,
    );
  });
});

describe("archives that are refused: skill_invalid_archive", () => {
  const badNames = [
    "../up",
    "a/../../up",
    "a/..",
    "..",
    "/etc/passwd",
    "//x",
    "C:/x",
    "C:\\x",
    "..\\up",
    "\\x",
    "a//b",
    "a/./b",
    "n".repeat(1_025),
  ];

  test("paths that leave the folder, are absolute, or hold what no path should", async () => {
    for (const name of badNames) {
      expect([name, await zipped({ name, data: "x" })]).toEqual([name, "skill_invalid_archive"]);
      expect([name, await tarred(pax({ path: name }), { name: "x", data: "x" })]).toEqual([
        name,
        "skill_invalid_archive",
      ]);
      expect([name, await zipped({ name: `${name}/` })]).toEqual([name, "skill_invalid_archive"]);
    }
    expect(await zipped({ name: "a\0b", data: "x" })).toBe("skill_invalid_archive");
    expect(await tarred(pax({ path: "a\0b" }), { name: "x", data: "x" })).toBe("skill_invalid_archive");
    expect(await zipped({ name: "", data: "x" })).toBe("skill_invalid_archive");
    expect(await zipped({ name: Buffer.from([0x66, 0xe9]), data: "x" })).toBe("skill_invalid_archive");
  });

  test("folders with content", async () => {
    expect(await zipped({ name: "a/", data: "x" })).toBe("skill_invalid_archive");
    expect(await tarred({ name: "a/", data: "x" })).toBe("skill_invalid_archive");
    expect(await tarred({ name: "a/", data: "x", type: "5" })).toBe("skill_invalid_archive");
  });

  test("a file that is a folder, too", async () => {
    const [file, below] = [
      { name: "a", data: "x" },
      { name: "./a/b", data: "y" },
    ];
    for (const files of [
      [file, below],
      [below, file],
    ]) {
      expect(await zipped(...files)).toBe("skill_invalid_archive");
      expect(await tarred(...files)).toBe("skill_invalid_archive");
    }
    expect(await zipped({ name: "a/" }, file)).toBe("skill_invalid_archive");
    expect(await tarred(file, { name: "a/b/", type: "5" })).toBe("skill_invalid_archive");
    expect(await zipped(file, { name: "a.md" })).toEqual({ "SKILL.md": md, a: "x", "a.md": "" });
  });

  test("duplicates, also where ./ hides them", async () => {
    expect(await zipped(inZip)).toBe("skill_invalid_archive");
    expect(await zipped({ name: "./SKILL.md", data: "other" })).toBe("skill_invalid_archive");
    expect(await tarred(inTar)).toBe("skill_invalid_archive");
    expect(await tarred(pax({ path: "./SKILL.md" }), { name: "x", data: "x" })).toBe("skill_invalid_archive");
    expect(await zipped({ name: "a/b", data: "1" }, { name: "a\\b", data: "2" })).toBe("skill_invalid_archive");
    expect(await tarred({ name: "a\\b", data: "x" })).toBe("skill_invalid_archive");
  });

  test("the reason names the entry", async () => {
    const reasons: [ZipFile, string][] = [
      [{ name: "a/../b", data: "x" }, "a/../b"],
      [{ name: "link", data: "/etc/passwd", mode: 0o120777 }, "link"],
      [{ name: "secret", data: "x", flags: 0x801 }, "secret"],
      [{ name: "odd", data: "x", method: 12 }, "odd"],
      [{ name: "sum", data: "x", crc: 1 }, "sum"],
      [{ name: "SKILL.md", data: "x" }, "SKILL.md"],
    ];
    for (const [file, named] of reasons)
      await expect(unpack("zip", zip([inZip, file]))).rejects.toThrow(JSON.stringify(named));
    await expect(unpack("zip", zip([{ name: "x/y/Skill.md", data: md }]))).rejects.toThrow('"x/y/Skill.md"');
  });

  test("links and special files", async () => {
    for (const mode of [0o120777, 0o010644, 0o020644, 0o060644, 0o140755])
      expect(await zipped({ name: "link", data: "/etc/passwd", method: 0, mode })).toBe("skill_invalid_archive");
    for (const type of ["1", "2", "3", "4", "6", "S", "V", "Z"])
      expect(await tarred({ name: "link", type, linkName: "/etc/passwd" })).toBe("skill_invalid_archive");
    const sparse = pax({ "GNU.sparse.major": "1", "GNU.sparse.minor": "0" });
    expect(await tarred(sparse, { name: "sparse", data: "x" })).toBe("skill_invalid_archive");
  });

  test("encrypted entries and methods that nobody reads", async () => {
    for (const flags of [0x801, 0x841])
      expect(await zipped({ name: "a", data: "x", flags })).toBe("skill_invalid_archive");
    expect(await zipped({ name: "a", data: "x", method: 12 })).toBe("skill_invalid_archive");
  });

  test("headers that lie about sizes, checksums and places", async () => {
    const lies: Partial<ZipFile>[] = [
      { size: 3 },
      { size: 1_000 },
      { method: 0, size: 3 },
      { compressedSize: 1_000_000 },
      { crc: 1 },
      { method: 0, crc: 1 },
      { offset: 0xfffffff0 },
      { offset: 7 },
    ];
    for (const lie of lies)
      expect([lie, await zipped({ name: "a", data: "hello, world", ...lie })]).toEqual([lie, "skill_invalid_archive"]);
    expect(await outcome("zip", zip([inZip], { size: 1_000_000 }))).toBe("skill_invalid_archive");
    expect(await outcome("zip", zip([inZip], { count: 5 }))).toBe("skill_invalid_archive");
    expect(await tarred({ name: "a", data: "x", size: 100_000 })).toBe("skill_invalid_archive");
    expect(await tarred({ name: "a", data: "x", checksum: 1 })).toBe("skill_invalid_archive");
    expect(await tarred(pax({ size: "-5" }), { name: "a", data: "x" })).toBe("skill_invalid_archive");
    expect(await tarred(pax({ size: "many" }), { name: "a", data: "x" })).toBe("skill_invalid_archive");
  });

  test("what is no such archive, is cut off, or has no SKILL.md at its root", async () => {
    const types = ["zip", "tar", "tar.gz"] as const;
    for (const type of types)
      for (const bytes of [Buffer.alloc(0), Buffer.from("hello"), noise(2_000), gzipSync("hello")])
        expect(await outcome(type, bytes)).toBe("skill_invalid_archive");
    const archives = { zip: zip([inZip]), tar: tar([inTar]), "tar.gz": tarGz([inTar]) };
    for (const made of types)
      for (const claimed of types)
        if (made !== claimed) expect(await outcome(claimed, archives[made])).toBe("skill_invalid_archive");
    for (const type of types) {
      const whole = archives[type];
      const cut = type === "tar" ? whole.subarray(0, 600) : whole.subarray(0, whole.length - 10);
      expect(await outcome(type, cut)).toBe("skill_invalid_archive");
    }
    expect(await outcome("zip", zip([]))).toBe("skill_invalid_archive");
    expect(await outcome("tar", Buffer.alloc(1024))).toBe("skill_invalid_archive");
    for (const name of ["skill.md", "a/b/SKILL.md", "SKILL.md/"])
      expect(await outcome("zip", zip([{ name, data: name.endsWith("/") ? "" : md }]))).toBe("skill_invalid_archive");
  });

  test("every byte of a small zip changed: never anything but a result or a refusal", async () => {
    const whole = zip([inZip, { name: "a", data: "x", streamed: true }]);
    for (let at = 0; at < whole.length; at++) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] as number) ^ 0xff;
      const response = await outcome("zip", bytes);
      expect(typeof response === "object" || String(response).startsWith("skill_")).toBe(true);
    }
  });
});

describe("archives that are too much", () => {
  test("skill_too_many_files: 101 files, or folders without end", async () => {
    const files = Array.from({ length: 100 }, (_, index) => ({ name: `f${index}`, data: "x" }));
    expect(await zipped(...files)).toBe("skill_too_many_files");
    expect(await tarred(...files)).toBe("skill_too_many_files");
    const folders = Array.from({ length: 1_000 }, (_, index) => ({ name: `d${index}/` }));
    expect(await zipped(...folders)).toBe("skill_too_many_files");
    expect(await tarred(...folders.map(({ name }) => ({ name, type: "5" })))).toBe("skill_too_many_files");
    expect(await outcome("zip", zip([inZip], { count: 0xffff }))).toBe("skill_too_many_files");
  });

  test("skill_uncompressed_too_large: one byte over 10 MiB, in one file or several", async () => {
    const data = Buffer.alloc(10 * mib - Buffer.byteLength(md) + 1);
    expect(await zipped({ name: "big", data })).toBe("skill_uncompressed_too_large");
    expect(await tarred({ name: "big", data })).toBe("skill_uncompressed_too_large");
    const half = data.subarray(0, 6 * mib);
    expect(await zipped({ name: "a", data: half }, { name: "b", data: half })).toBe("skill_uncompressed_too_large");
    expect(await tarred({ name: "a", data: half }, { name: "b", data: half })).toBe("skill_uncompressed_too_large");
  });

  test("skill_uncompressed_too_large: a bomb is given up early, whatever its headers say", async () => {
    const data = Buffer.alloc(300 * mib);
    const bombs: [ArchiveType, Uint8Array, string][] = [
      ["zip", zip([inZip, { name: "bomb", data }]), "skill_uncompressed_too_large"],
      ["zip", zip([inZip, { name: "bomb", data, size: 10, crc: 0 }]), "skill_invalid_archive"],
      ["zip", zip([inZip, { name: "bomb", data, size: 9 * mib, crc: 0 }]), "skill_invalid_archive"],
      ["tar.gz", gzipSync(Buffer.concat([tar([inTar], false), data])), "skill_uncompressed_too_large"],
      ["tar.gz", tarGz([inTar, { name: "bomb", data }]), "skill_uncompressed_too_large"],
    ];
    for (const [type, archive, expected] of bombs) {
      const before = process.memoryUsage().rss;
      expect(await outcome(type, archive)).toBe(expected);
      // All of it would be 300 MiB. Other files' tests in this process leave something to be collected.
      expect(process.memoryUsage().rss - before).toBeLessThan(200 * mib);
    }
  });

  test("headers without end are not read, and a file that unpacks to nothing holds up nobody", async () => {
    const records = "6 a=b\n".repeat(200_000);
    expect(await outcome("tar", tar([{ name: "p", type: "x", data: records }, inTar]))).toBe("skill_invalid_archive");
    const extra = Buffer.alloc(60_000);
    const extras = Array.from({ length: 10 }, (_, index) => ({ name: `f${index}`, data: "x", extra }));
    expect(await zipped(...extras)).toBe("skill_invalid_archive");
    // Blocks of no content, of ten bits each: 5 MiB of them take some 80 ms.
    const empty = Buffer.concat([
      Buffer.alloc(5 * mib, Buffer.from([0x02, 0x08, 0x20, 0x80, 0x00])),
      Buffer.from([3, 0]),
    ]);
    let rounds = 0;
    const count = setInterval(() => rounds++, 0);
    expect(await zipped({ name: "none", packed: empty })).toEqual({ "SKILL.md": md, none: "" });
    clearInterval(count);
    expect(rounds).toBeGreaterThan(1);
  });

  test("entries that all point at the same data count each time", async () => {
    const data = Buffer.alloc(mib);
    const at = zip([inZip]).length - 22 - 46 - "SKILL.md".length;
    const again = Array.from({ length: 12 }, (_, index) => ({ name: `g${index}`, data, offset: at }));
    expect(await zipped({ name: "f0", data }, ...again)).toBe("skill_uncompressed_too_large");
  });
});
