import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** The best quality takes Brotli a second for a large file; this one takes a tenth of it, and a few per cent more bytes. */
const brotliQuality = 9;

/** The encodings that a file may be sent in, the smaller one first, each with the ending of a file that has it already. */
export const encodings = {
  br: {
    suffix: ".br",
    encode: (bytes: Uint8Array) =>
      promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  },
  gzip: { suffix: ".gz", encode: (bytes: Uint8Array) => promisify(gzip)(bytes, { level: 9 }) },
} as const;
/** One of the encodings. */
export type Encoding = keyof typeof encodings;

/** Returns the encoding in which a request takes its response; null for none. */
export function encodingFor(request: Request): Encoding | null {
  const accepted = (request.headers.get("accept-encoding") ?? "")
    .split(",")
    .map((item) => item.trim().toLowerCase())
    .filter((item) => !/;\s*q=0(?:\.0*)?$/.test(item))
    .map((item) => item.split(";")[0]?.trim());
  return (Object.keys(encodings) as Encoding[]).find((encoding) => accepted.includes(encoding)) ?? null;
}

/** A body as it is sent: its bytes, and the encoding that they are in. */
export interface EncodedBody {
  readonly bytes: Uint8Array;
  readonly encoding: Encoding | null;
}

/** Returns the response with a body that depends on Accept-Encoding; 304 without it where the caller has these bytes. */
export function encodedResponse(
  request: Request,
  { bytes, encoding }: EncodedBody,
  more: Readonly<Record<string, string>>,
): Response {
  const headers = {
    ...more,
    Vary: "Accept-Encoding",
    ETag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`,
    ...(encoding === null ? {} : { "Content-Encoding": encoding }),
  };
  if (hasTag(request, headers.ETag)) return new Response(null, { status: 304, headers });
  return new Response(bytes as BodyInit, { headers });
}

/** A proxy that compresses anew, such as nginx, makes a tag a weak one. */
function hasTag(request: Request, tag: string): boolean {
  const known = request.headers.get("if-none-match") ?? "";
  return known.split(",").some((item) => item.trim().replace(/^W\//, "") === tag);
}

/** A text that is made once and sent to many. */
export class KeptText {
  readonly #make: () => string | Promise<string>;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #bodies = new Map<Encoding | null, Promise<Uint8Array>>();

  /** Makes the text when it is first asked for. */
  constructor(make: () => string | Promise<string>, headers: Readonly<Record<string, string>>) {
    this.#make = make;
    this.#headers = headers;
  }

  /** Responds with the text in an encoding that the caller takes, each made once. */
  async respond(request: Request): Promise<Response> {
    const encoding = encodingFor(request);
    return encodedResponse(request, { bytes: await this.#body(encoding), encoding }, this.#headers);
  }

  #body(encoding: Encoding | null): Promise<Uint8Array> {
    const kept = this.#bodies.get(encoding);
    if (kept !== undefined) return kept;
    const made =
      encoding === null
        ? Promise.resolve(this.#make()).then((text) => new TextEncoder().encode(text))
        : this.#body(null).then((plain) => encodings[encoding].encode(plain));
    this.#bodies.set(encoding, made);
    made.catch(() => this.#bodies.delete(encoding));
    return made;
  }
}
