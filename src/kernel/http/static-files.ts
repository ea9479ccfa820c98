import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { type Encoding, encodedResponse, encodingFor, encodings } from "./encoding.ts";
import { pageSecurity } from "./page-security.ts";

/** A file's path below a folder: no hidden file, and nothing above. */
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

/** Serves files that a build has written. */
export class StaticFiles {
  readonly #folders: readonly string[];
  readonly #mark: string;
  readonly #kept = new Map<string, Uint8Array>();
  #keptBytes = 0;

  /** Serves the first of these folders that has a file of this name, which every build writes. */
  constructor(folders: readonly string[], mark: string) {
    this.#folders = folders;
    this.#mark = mark;
  }

  /** Whether there is a build to serve. */
  get isBuilt(): boolean {
    return this.#folder() !== undefined;
  }

  /** Responds with a file; null where there is none of this name. */
  async respond(request: Request, name: string): Promise<Response | null> {
    if (!filePath.test(name)) return null;
    const encoding = isCompressed.test(extname(name)) ? null : encodingFor(request);
    const bytes = await this.#read(name, encoding);
    if (bytes === null) return null;
    return encodedResponse(
      request,
      { bytes, encoding },
      {
        ...pageSecurity,
        "Content-Type": mediaTypes[extname(name)] ?? "application/octet-stream",
        "Cache-Control": name.startsWith(unchangingFolder) ? "public, max-age=31536000, immutable" : "no-cache",
      },
    );
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

  #folder(): string | undefined {
    return this.#folders.find((folder) => existsSync(join(folder, this.#mark)));
  }

  async #file(name: string): Promise<Uint8Array | null> {
    const folder = this.#folder();
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

/** Responds in place of pages that are not built, with the command that builds them. */
export function unbuilt(what: string, command: string): Response {
  const text = `${what} are not built. Run \`${command}\` once.\n`;
  const headers = { ...pageSecurity, "Content-Type": "text/plain; charset=utf-8" };
  return new Response(text, { status: 503, headers });
}
