import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { ApiError } from "../kernel/errors.ts";
import { hasPages } from "./folders.ts";

/** A file's path below that: no hidden file, and nothing above. */
const filePath = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
/** Files below this folder have a digest in their names, and never change. */
const unchangingFolder = "assets/";
/** So much of the files is kept in memory, each in the encodings that were asked for. */
const keptBytesMax = 32 * 1024 * 1024;

const mediaTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
};
/** What a browser gains nothing from getting compressed. */
const isCompressed = /^\.(?:png|webp|woff2)$/;

/** What the page may load and call: this service only, and nothing that is written into it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const secured = {
  "Content-Security-Policy": policy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** Serves the built files of the console. */
export class ConsolePages {
  readonly #folders: readonly string[];
  readonly #kept = new Map<string, Uint8Array>();
  #keptBytes = 0;

  /** Serves the first of these folders that holds the pages. */
  constructor(folders: readonly string[]) {
    this.#folders = folders;
  }

  /** Responds to a request below `/console/`: a path with an extension is a file, every other one the page. Throws 404. */
  async respond(request: Request, path: string): Promise<Response> {
    if (path === "api") throw new ApiError("not_found");
    const isFile = extname(path) !== "";
    if (isFile && !filePath.test(path)) throw new ApiError("not_found");
    const name = isFile ? path : "index.html";
    const encoding = isCompressed.test(extname(name)) ? null : encodingFor(request);
    const bytes = await this.#read(name, encoding);
    if (bytes === null && isFile) throw new ApiError("not_found");
    if (bytes === null) return unbuilt();
    const headers = {
      ...secured,
      "Content-Type": mediaTypes[extname(name)] ?? "application/octet-stream",
      "Cache-Control": name.startsWith(unchangingFolder) ? "public, max-age=31536000, immutable" : "no-cache",
      Vary: "Accept-Encoding",
      ETag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`,
      ...(encoding === null ? {} : { "Content-Encoding": encoding }),
    };
    if (request.headers.get("if-none-match") === headers.ETag) return new Response(null, { status: 304, headers });
    return new Response(bytes as BodyInit, { headers });
  }

  /** Returns a file in an encoding; null where there is none. A file that may change is read each time. */
  async #read(name: string, encoding: Encoding | null): Promise<Uint8Array | null> {
    const key = `${name} ${encoding ?? ""}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const ready = encoding === null ? null : await this.#file(name + encodings[encoding].suffix);
    const bytes = ready ?? (await this.#encode(name, encoding));
    if (bytes !== null && name.startsWith(unchangingFolder) && this.#keptBytes + bytes.byteLength <= keptBytesMax) {
      this.#kept.set(key, bytes);
      this.#keptBytes += bytes.byteLength;
    }
    return bytes;
  }

  async #encode(name: string, encoding: Encoding | null): Promise<Uint8Array | null> {
    const plain = await this.#file(name);
    return plain === null || encoding === null ? plain : encodings[encoding].encode(plain);
  }

  async #file(name: string): Promise<Uint8Array | null> {
    const folder = this.#folders.find(hasPages);
    if (folder === undefined) return null;
    try {
      return new Uint8Array(await readFile(join(folder, name)));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : null;
      if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return null;
      throw error;
    }
  }
}

/** The best quality takes Brotli a second for a large file; this one takes a tenth of it, and a few per cent more bytes. */
const brotliQuality = 9;
const encodings = {
  br: {
    suffix: ".br",
    encode: (bytes: Uint8Array) =>
      promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  },
  gzip: { suffix: ".gz", encode: (bytes: Uint8Array) => promisify(gzip)(bytes, { level: 9 }) },
} as const;
type Encoding = keyof typeof encodings;

function encodingFor(request: Request): Encoding | null {
  const accepted = (request.headers.get("accept-encoding") ?? "")
    .split(",")
    .map((item) => item.trim().toLowerCase())
    .filter((item) => !/;\s*q=0(?:\.0*)?$/.test(item))
    .map((item) => item.split(";")[0]?.trim());
  return (Object.keys(encodings) as Encoding[]).find((encoding) => accepted.includes(encoding)) ?? null;
}

function unbuilt(): Response {
  const text = "The console's pages are not built. Run `npm run build:console` once.\n";
  return new Response(text, { status: 503, headers: { ...secured, "Content-Type": "text/plain; charset=utf-8" } });
}
