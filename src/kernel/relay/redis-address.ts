/** One server of an address. */
export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

/** What `REDIS_URL` names: one Redis, the master that Sentinels know by a name, or a Redis Cluster. */
export type RedisAddress =
  | { readonly kind: "single"; readonly url: string }
  | (RedisLogin & { readonly kind: "sentinel"; readonly hosts: readonly RedisHost[]; readonly name: string })
  | (RedisLogin & { readonly kind: "cluster"; readonly hosts: readonly RedisHost[] });

interface RedisLogin {
  readonly username: string | null;
  readonly password: string | null;
  readonly db: number;
}

const parts = /^redis\+(sentinel|cluster):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^?#]*))?$/;
const defaultPorts = { sentinel: 26_379, cluster: 6_379 };

/** What is wrong with a value of `REDIS_URL`. The value itself is not said: it may hold a password. */
export class RedisUrlFault extends Error {
  override readonly name = "RedisUrlFault";
}

/** Returns what a URL names. Throws `RedisUrlFault`. */
export function parseRedisUrl(url: string): RedisAddress {
  if (/^rediss?:\/\//.test(url) && URL.canParse(url) && !new URL(url).host.includes(","))
    return { kind: "single", url };
  const [, kind, login = "", authority = "", path = ""] = parts.exec(url) ?? [];
  if (kind !== "sentinel" && kind !== "cluster")
    throw new RedisUrlFault(
      "must be a URL that starts with redis:// or rediss://, redis+sentinel://h1,h2,h3/name or redis+cluster://h1,h2,h3",
    );
  const hosts = authority.split(",").map((host) => hostOf(host, defaultPorts[kind]));
  const [username = "", password = ""] = login.split(":").map(decodeURIComponent);
  const common = { hosts, username: username || null, password: password || null, db: 0 };
  if (kind === "cluster") return { kind, ...common };
  const [name = "", db = "0"] = path.split("/").map(decodeURIComponent);
  if (name === "") throw new RedisUrlFault("must end with the name of the master that its Sentinels watch");
  if (!/^\d{1,4}$/.test(db)) throw new RedisUrlFault("must have a number behind the name of the master");
  return { kind, ...common, name, db: Number(db) };
}

function hostOf(text: string, defaultPort: number): RedisHost {
  if (!URL.canParse(`redis://${text}`)) throw new RedisUrlFault("must name hosts, comma-separated");
  const { hostname, port } = new URL(`redis://${text}`);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? defaultPort : Number(port) };
}
