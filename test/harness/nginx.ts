import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { inRepository } from "./repository.ts";

/** A real nginx with the file of the docs. */
export interface Proxy extends AsyncDisposable {
  readonly url: string;
}

const program = ["nginx", "/usr/sbin/nginx"].find((name) => spawnSync(name, ["-v"]).status === 0);
/** Whether a real nginx can be started on this machine, and OpenSSL can make it a certificate. */
export const nginxInstalled = program !== undefined && spawnSync("openssl", ["version"]).status === 0;

/** Starts nginx with `docs/nginx/parley.conf` before an HTTP process, at ports of its own, with a certificate that nobody signed. */
export async function startNginx(port: number): Promise<Proxy> {
  if (program === undefined) throw new Error("nginx is not installed");
  const folder = await mkdtemp(join(tmpdir(), "parley-nginx-"));
  const [https, http] = [await freePort(), await freePort()];
  const [certificate, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const subject = ["-subj", "/CN=parley.example.com", "-days", "2"];
  spawnSync("openssl", [
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-keyout",
    key,
    "-out",
    certificate,
    ...subject,
  ]);
  const changes: readonly (readonly [string | RegExp, string])[] = [
    [/server 127\.0\.0\.1:808\d max_fails=0;/g, `server 127.0.0.1:${port} max_fails=0;`],
    ["listen 443 ssl;", `listen 127.0.0.1:${https} ssl;`],
    ["listen 80;", `listen 127.0.0.1:${http};`],
    ["/etc/letsencrypt/live/parley.example.com/fullchain.pem", certificate],
    ["/etc/letsencrypt/live/parley.example.com/privkey.pem", key],
    ["/var/log/nginx/parley.log", join(folder, "access.log")],
  ];
  let text = await readFile(inRepository("docs/nginx/parley.conf"), "utf8");
  for (const [from, to] of changes) {
    const changed = text.replace(from, to);
    if (changed === text) throw new Error(`parley.conf has no ${from}`);
    text = changed;
  }
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  await mkdir(join(folder, "logs"));
  const whole = ["daemon off;", `pid ${folder}/pid;`, "error_log stderr;", "events {}", "http {", ...paths, text, "}"];
  const file = join(folder, "nginx.conf");
  await writeFile(file, whole.join("\n"));
  const child: ChildProcess = spawn(program, ["-p", folder, "-c", file], { stdio: ["ignore", "ignore", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const url = `https://127.0.0.1:${https}`;
  await eventually(() =>
    throughNginx(url, "/healthz").then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** One request to an nginx of `startNginx`. */
export function throughNginx(url: string, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${url}${path}`, { ...init, tls: { rejectUnauthorized: false }, decompress: false } as RequestInit);
}
