/** Archives made byte by byte, so that a test can make every field lie. */
import { crc32, deflateRawSync, gzipSync } from "node:zlib";

/** A SKILL.md that is valid. */
export function skillMd(name = "Tea", description = "How to make tea.", more = ""): string {
  return `---\nname: ${name}\ndescription: ${description}\n${more}---\n\n# ${name}\n`;
}

export interface ZipFile {
  readonly name: string | Uint8Array;
  readonly data?: string | Uint8Array;
  /** Compress (8), store (0), or claim another method. */
  readonly method?: number;
  /** General purpose flags beyond those that other fields set. */
  readonly flags?: number;
  /** Unix mode with file type; 0 leaves it out. */
  readonly mode?: number;
  /** Sizes and checksum follow the data, as a streaming writer leaves them. */
  readonly streamed?: boolean;
  /** Lies of the headers. */
  readonly size?: number;
  readonly compressedSize?: number;
  readonly crc?: number;
  readonly offset?: number;
  readonly localName?: string;
  /** Extra fields of the directory. */
  readonly extra?: Uint8Array;
  /** Packed bytes that unpack to nothing. */
  readonly packed?: Uint8Array;
}

const bytesOf = (data: string | Uint8Array) => (typeof data === "string" ? Buffer.from(data) : Buffer.from(data));

/** A zip of these files; `end` changes fields of the record at its end. */
export function zip(files: readonly ZipFile[], end: { count?: number; size?: number; comment?: string } = {}): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const file of files) {
    const data = bytesOf(file.data ?? "");
    const method = file.method ?? 8;
    const packed = file.packed ? bytesOf(file.packed) : method === 8 ? deflateRawSync(data) : data;
    const extra = bytesOf(file.extra ?? "");
    const name = bytesOf(file.name);
    const flags = (file.flags ?? 0x800) | (file.streamed ? 0x8 : 0);
    const fields = [file.crc ?? crc32(data), file.compressedSize ?? packed.length, file.size ?? data.length];
    const common = (values: number[], nameLength: number) => {
      const header = Buffer.alloc(26);
      header.writeUInt16LE(20, 0);
      header.writeUInt16LE(flags, 2);
      header.writeUInt16LE(method, 4);
      for (const [index, value] of values.entries()) header.writeUInt32LE(value, 10 + index * 4);
      header.writeUInt16LE(nameLength, 22);
      return header;
    };
    const localName = file.localName === undefined ? name : bytesOf(file.localName);
    const local = [uint32(0x04034b50), common(file.streamed ? [0, 0, 0] : fields, localName.length), localName, packed];
    if (file.streamed) local.push(uint32(0x08074b50), ...fields.map(uint32));
    const central = Buffer.alloc(14);
    // After the length of the name stands that of the extra fields.
    const entry = common(fields, name.length);
    entry.writeUInt16LE(extra.length, 24);
    central.writeUInt32LE(((file.mode ?? 0) << 16) >>> 0, 6);
    central.writeUInt32LE(file.offset ?? at, 10);
    directory.push(uint32(0x02014b50), Buffer.from([20, 3]), entry, central, Buffer.from(name), Buffer.from(extra));
    parts.push(...local);
    at += Buffer.concat(local).length;
  }
  const central = Buffer.concat(directory);
  const comment = Buffer.from(end.comment ?? "");
  const record = Buffer.alloc(22);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(end.count ?? files.length, 8);
  record.writeUInt16LE(end.count ?? files.length, 10);
  record.writeUInt32LE(end.size ?? central.length, 12);
  record.writeUInt32LE(at, 16);
  record.writeUInt16LE(comment.length, 20);
  return Buffer.concat([...parts, central, record, comment]);
}

export interface TarFile {
  readonly name: string;
  readonly data?: string | Uint8Array;
  /** `0` file, `1` hard link, `2` symbolic link, `3` `4` devices, `5` folder, `6` pipe, `x` `g` pax, `L` long name, `S` sparse. */
  readonly type?: string;
  readonly linkName?: string;
  readonly size?: number;
  readonly checksum?: number;
}

/** A tar of these entries; `end` false leaves the closing blocks out. */
export function tar(files: readonly TarFile[], end = true): Buffer {
  const parts = files.flatMap((file) => {
    const data = bytesOf(file.data ?? "");
    const header = Buffer.alloc(512);
    header.write(file.name, 0, 100);
    header.write("0000644\0", 100);
    header.write("0000000\0", 108);
    header.write("0000000\0", 116);
    header.write(`${(file.size ?? data.length).toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write("        ", 148);
    header.write(file.type ?? "0", 156);
    header.write(file.linkName ?? "", 157);
    header.write("ustar\x0000", 257);
    const sum = file.checksum ?? header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return [header, data, Buffer.alloc((512 - (data.length % 512)) % 512)];
  });
  return Buffer.concat([...parts, Buffer.alloc(end ? 1024 : 0)]);
}

/** A pax header that gives the next entry these fields. */
export function pax(fields: Readonly<Record<string, string>>, type = "x"): TarFile {
  const data = Object.entries(fields).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    let length = rest + String(rest).length;
    if (String(length).length > String(rest).length) length = rest + String(length).length;
    return `${length} ${key}=${value}\n`;
  });
  return { name: "PaxHeader", type, data: data.join("") };
}

export function tarGz(files: readonly TarFile[]): Buffer {
  return gzipSync(tar(files));
}

/** A multipart form with these parts; bytes become files. */
export function form(parts: Readonly<Record<string, string | Uint8Array>>): FormData {
  const made = new FormData();
  for (const [name, part] of Object.entries(parts)) {
    if (typeof part === "string") made.append(name, part);
    else made.append(name, new Blob([part as Uint8Array<ArrayBuffer>]), "archive");
  }
  return made;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
