import { readParleyError } from "./error.ts";
import { TurnStream } from "./turn-stream.ts";

/** Where the service is, and as whom to speak to it. */
export interface ParleyOptions {
  /** The service's address, such as `https://parley.example.org`. */
  readonly baseUrl: string;
  /** An API key, a dashboard JWT, or a function that returns one. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** Replaces the runtime's own `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** What every call takes beside what its operation does. */
export interface CallOptions {
  /** Ends the call; a turn that it started goes on. */
  readonly signal?: AbortSignal;
  /** Makes the call safe to repeat. */
  readonly idempotencyKey?: string;
  /** Further headers, such as `Last-Event-ID`. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Call extends CallOptions {
  readonly body?: unknown;
  readonly form?: object;
  readonly content?: Blob | Uint8Array<ArrayBuffer> | string;
  readonly query?: object;
}

/** A path with ids in it, each encoded. */
export function path(texts: TemplateStringsArray, ...ids: readonly string[]): string {
  return texts.reduce((whole, text, index) => `${whole}${encodeURIComponent(ids[index - 1] ?? "")}${text}`);
}

/** Sends the calls of a client. */
export class Transport {
  readonly #options: ParleyOptions;

  constructor(options: ParleyOptions) {
    this.#options = options;
  }

  /**
   * Sends a call. Resolves to what the response holds: JSON, a stream, bytes, or null
   * without a body. Throws `ParleyError` for a response that is no success.
   */
  async call<T>(method: string, to: string, call: Call): Promise<T> {
    const send = this.#options.fetch ?? fetch;
    const response = await send(await this.#request(method, to, call));
    if (!response.ok) throw await readParleyError(response);
    if (response.status === 204) return null as T;
    const type = response.headers.get("content-type") ?? "";
    if (type.startsWith("text/event-stream")) return new TurnStream(response) as T;
    if (type.startsWith("application/json")) return (await response.json()) as T;
    return new Uint8Array(await response.arrayBuffer()) as T;
  }

  /** The rows of all pages of a list. */
  async *rows<T>(to: string, name: string, call: Call): AsyncGenerator<T> {
    let query: object | undefined = call.query;
    for (;;) {
      const page: Record<string, unknown> = await this.call("GET", to, { ...call, ...(query && { query }) });
      yield* page[name] as T[];
      if (typeof page.nextCursor !== "string") return;
      query = { ...query, cursor: page.nextCursor };
    }
  }

  async #request(method: string, to: string, { query = {}, signal, ...call }: Call): Promise<Request> {
    const url = new URL(`${this.#options.baseUrl.replace(/\/$/, "")}${to}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const { apiKey } = this.#options;
    const headers = new Headers({
      ...call.headers,
      Authorization: `Bearer ${typeof apiKey === "string" ? apiKey : await apiKey()}`,
      // The types of this client are form B's, whatever the tenant's default is.
      "API-Form": "b",
    });
    if (call.idempotencyKey !== undefined) headers.set("Idempotency-Key", call.idempotencyKey);
    const body = bodyOf(call, headers);
    return new Request(url, { method, headers, body, ...(signal === undefined ? {} : { signal }) });
  }
}

function bodyOf({ body, form, content }: Call, headers: Headers): BodyInit | null {
  if (form !== undefined) {
    const parts = new FormData();
    for (const [name, value] of Object.entries(form)) if (value !== undefined) parts.set(name, value);
    return parts;
  }
  if (content !== undefined) {
    headers.set("Content-Type", "application/octet-stream");
    return content;
  }
  if (body === undefined) return null;
  headers.set("Content-Type", "application/json");
  return JSON.stringify(body);
}
