import postgres from "postgres";

/** One server. */
export interface DatabaseHost {
  readonly host: string;
  readonly port: number;
}

const defaultPort = 5432;
/** A host that does not say within this whether it takes writes is not the one. */
const askSeconds = 3;
/** What was found so long ago at most is still so, where connections have broken since. */
const foundMsMax = 500;

/** The parts of a URL that `URL` cannot read where it names several hosts with ports. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^@/?#]*)([/?#].*)?$/;

/** Returns the hosts of a database URL; null when it is none. */
export function hostsOf(databaseUrl: string): readonly DatabaseHost[] | null {
  const [, before = "", authority = "", rest = ""] = parts.exec(databaseUrl) ?? [];
  const hosts = authority.split(",");
  if (before === "" || !hosts.every((host) => host !== "" && URL.canParse(`${before}${host}${rest}`))) return null;
  return hosts.map((host) => {
    const { hostname, port } = new URL(`${before}${host}${rest}`);
    return {
      host: decodeURIComponent(hostname.replace(/^\[|\]$/g, "")),
      port: port === "" ? defaultPort : Number(port),
    };
  });
}

/** Returns a database URL that names one host only. */
function ofOneHost(databaseUrl: string, host?: DatabaseHost): URL {
  const [, before = "", authority = "", rest = ""] = parts.exec(databaseUrl) ?? [];
  const url = new URL(`${before}${authority.split(",", 1)[0]}${rest}`);
  if (host === undefined) return url;
  url.hostname = host.host.includes(":") ? `[${host.host}]` : host.host;
  url.port = String(host.port);
  return url;
}

/** Returns where a database is, without its user and password, to be shown. */
export function shownAddress(databaseUrl: string): string {
  const [, , authority = "", rest = ""] = parts.exec(databaseUrl) ?? [];
  return `${authority}${rest.replace(/[?#].*$/, "")}`;
}

/** How connections are secured; `false`: not at all. */
export type Tls = false | { readonly isOptional: boolean; readonly verifies: boolean };

/**
 * What a database URL names. Where it names several hosts, the one that takes writes is asked for before
 * each connection, and found again when its connections have broken (docs/deployment.md, "Several hosts").
 */
export class DatabaseAddress {
  /** The URL with one host. For drivers that read TLS from it. */
  readonly url: string;
  /** The same without what it says of TLS. */
  readonly plainUrl: string;
  readonly tls: Tls;
  readonly #databaseUrl: string;
  readonly #hosts: readonly DatabaseHost[];
  #found: { readonly host: DatabaseHost; readonly atMs: number; isSure: boolean } | null = null;
  #finding: Promise<DatabaseHost> | null = null;

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
    this.#hosts = hostsOf(databaseUrl) ?? [];
    const url = ofOneHost(databaseUrl);
    this.url = url.href;
    this.tls = tlsOf(url.searchParams.get("sslmode") ?? url.searchParams.get("ssl"));
    for (const name of ["sslmode", "ssl"]) url.searchParams.delete(name);
    this.plainUrl = url.href;
  }

  /** Returns the server to connect to. Rejects when none of several takes writes. */
  async host(): Promise<DatabaseHost> {
    const [first] = this.#hosts;
    if (first !== undefined && this.#hosts.length === 1) return first;
    const found = this.#found;
    if (found !== null && (found.isSure || performance.now() - found.atMs < foundMsMax)) return found.host;
    this.#finding ??= this.#find().finally(() => {
      this.#finding = null;
    });
    return this.#finding;
  }

  /** A connection has broken, or its server takes no writes: another one may be the primary now. */
  forget(): void {
    if (this.#found !== null) this.#found.isSure = false;
  }

  async #find(): Promise<DatabaseHost> {
    const asked = this.#hosts.map(async (host) => {
      if (!(await takesWrites(ofOneHost(this.#databaseUrl, host).href))) throw new Error("It takes no writes.");
      return host;
    });
    try {
      const host = await Promise.any(asked);
      this.#found = { host, atMs: performance.now(), isSure: true };
      return host;
    } catch (error) {
      const [reason] = error instanceof AggregateError ? error.errors : [error];
      const told = new Error("None of its hosts takes writes.", { cause: reason });
      // The login may be wrong at all of them; anything else may be another in a moment.
      const code = (reason as { readonly code?: string }).code ?? "";
      throw Object.assign(told, { code: /^(28|3D)/.test(code) ? code : "EHOSTUNREACH" });
    }
  }
}

async function takesWrites(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: askSeconds, fetch_types: false, onnotice: () => {} });
  try {
    const [row] = await sql<{ writes: boolean }[]>`
      select not pg_is_in_recovery() and not current_setting('transaction_read_only')::bool as writes`;
    return row?.writes === true;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** The driver's (3.4.9) meaning of the modes: only the strict ones verify whose certificate it is. */
function tlsOf(mode: string | null): Tls {
  if (mode === null || mode === "disable" || mode === "false") return false;
  return { isOptional: mode === "prefer", verifies: !["require", "allow", "prefer"].includes(mode) };
}

const addresses = new Map<string, DatabaseAddress>();

/** Returns the address that a database URL names; all connections of a process share what is known of it. */
export function addressOf(databaseUrl: string): DatabaseAddress {
  const address = addresses.get(databaseUrl) ?? new DatabaseAddress(databaseUrl);
  addresses.set(databaseUrl, address);
  return address;
}
