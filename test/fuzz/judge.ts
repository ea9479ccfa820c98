import type { App } from "../../src/app.ts";
import type { Sql } from "../../src/kernel/database/client.ts";
import type { Shot, Target } from "./requests.ts";

/** No request may take longer than this: what it waits for at other servers has shorter limits. */
const responseMsMax = 20_000;

/** Error responses of requests that may have saved something, as the documents have it. */
const savesAnyway = new Set(["PATCH /v1/chat-connections/{id}"]);
/** `connect` responds with 500 to a connection that is missing or does not suit: `POST /v1/mcp-connections/:id/connect`. */
const answers500 = new Set(["POST /v1/mcp-connections/{id}/connect"]);

/** Bun's own server refuses request lines and headers over 16 KiB before the service sees them (README). */
const urlCharsMax = 15_000;

/** Sends requests to the service and judges the responses. */
export class Judge {
  readonly #app: App;
  readonly #sql: Sql;
  readonly #targets: ReadonlyMap<string, Target>;
  #tables: readonly string[] = [];
  #written = "";
  #saved = "";
  /** How often each status was returned. */
  readonly statuses = new Map<number, number>();

  constructor(app: App, sql: Sql, targets: readonly Target[]) {
    this.#app = app;
    this.#sql = sql;
    this.#targets = new Map(targets.map((target) => [target.op, target]));
  }

  /** Looks at what is saved before the first request. */
  async begin(): Promise<void> {
    const rows = await this.#sql<{ name: string }[]>`
      select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and (table_schema = 'public' or table_schema = 'graphile_worker') order by 1`;
    this.#tables = rows.map(({ name }) => name);
    this.#written = await this.#lastWrite();
    this.#saved = await this.#contents();
  }

  /** Sends a request. Throws what is wrong with its response. */
  async judge(shot: Shot): Promise<void> {
    const request = this.#request(shot);
    if (request === null) return;
    const response = await withinTime(this.#app(request));
    this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1);
    if (response.headers.get("content-type")?.startsWith("text/event-stream")) await response.body?.cancel();
    else if (response.status >= 400) this.#judgeError(shot, response, await withinTime(response.text()));
    else await response.arrayBuffer();
    await this.#judgeSaved(shot, response.status);
  }

  #request({ op, path, query, headers, body, cutAt }: Shot): Request | null {
    const usual = body === "usual" ? (this.#targets.get(op)?.usual.body as BodyInit) : null;
    const bytes = body === null ? null : new TextEncoder().encode(body);
    const cut = bytes !== null && cutAt !== null ? bytes.subarray(0, Math.max(0, bytes.length - cutAt)) : bytes;
    const sent = usual ?? cut;
    try {
      const url = `http://parley.test${path}${query === "" ? "" : `?${query}`}`;
      if (url.length > urlCharsMax) return null;
      const method = op.split(" ")[0] ?? "";
      return new Request(url, { method, headers: { ...typeOf(body), ...headers }, body: sent });
    } catch {
      return null; // No client could send this either.
    }
  }

  #judgeError({ op, strays }: Shot, { status, headers }: Response, text: string): void {
    if (status === 500 && !answers500.has(op)) throw new Error(`500: ${text}`);
    const { error, ...others } = JSON.parse(text);
    const { code, message, requestId, details } = error;
    const isWhole = [code, message, requestId].every((field) => typeof field === "string" && field !== "");
    if (!isWhole || Object.keys(others).length > 0) throw new Error(`No envelope: ${text}`);
    if (requestId !== headers.get("x-request-id")) throw new Error(`Another request's id: ${text}`);
    if (details?.issues !== undefined && !details.issues.every(isIssue)) throw new Error(`No issues: ${text}`);
    if (strays) return;
    const documented = this.#targets.get(op)?.described.responses[String(status)]?.description ?? "";
    if (!documented.includes(`\`${code}\``)) throw new Error(`${op} does not say that it returns ${status} ${code}.`);
  }

  async #judgeSaved({ op, strays }: Shot, status: number): Promise<void> {
    const written = await this.#lastWrite();
    if (written === this.#written) return; // Nobody has even begun to write.
    this.#written = written;
    const saved = await this.#contents();
    const isSame = saved === this.#saved;
    this.#saved = saved;
    if (status >= 400 && status < 500 && !isSame && !strays && !savesAnyway.has(op))
      throw new Error(`${op} returned ${status} and saved something.`);
  }

  /** Changes with every transaction that writes. */
  async #lastWrite(): Promise<string> {
    const [row] = await this.#sql`select pg_snapshot_xmax(pg_current_snapshot())::text as last`;
    return row?.last;
  }

  /** What all tables hold, as rows and a sum over them; but for a key's last use, which is noted beside the requests. */
  async #contents(): Promise<string> {
    const parts = this.#tables.map((name) => {
      const row = name === "public.api_keys" ? "(to_jsonb(t) - 'last_used_at')" : "t";
      return `select '${name}' as name, count(*) as rows, coalesce(sum(hashtextextended(${row}::text, 0)), 0) as sum from ${name} t`;
    });
    return JSON.stringify(await this.#sql.unsafe(parts.join(" union all ")));
  }
}

/** The media type of a body that its request does not name. */
function typeOf(body: Shot["body"]): Record<string, string> {
  if (body === null || body === "usual") return {};
  return { "content-type": body.startsWith("--x\r\n") ? "multipart/form-data; boundary=x" : "application/json" };
}

function isIssue(issue: { path?: unknown; message?: unknown }): boolean {
  return typeof issue.path === "string" && typeof issue.message === "string";
}

async function withinTime<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No response within ${responseMsMax} ms.`)), responseMsMax);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
