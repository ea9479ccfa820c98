import { spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../harness/free-port.ts";
import { eventually } from "../harness/harness.ts";

const portalFolder = "/usr/share/lemonldap-ng/portal";
const modules = ["Lemonldap::NG::Portal::Issuer::OpenIDConnect", "Lemonldap::NG::Portal::Captcha::SecurityImage"];

/**
 * Whether LemonLDAP::NG can be started here. On Debian: `apt-get install --no-install-recommends
 * liblemonldap-ng-portal-perl libplack-perl libgd-securityimage-perl libimage-magick-perl libstring-random-perl libio-string-perl`.
 */
export const isLemonldapInstalled =
  spawnSync("perl", [...modules.map((name) => `-M${name}`), "-e", "1"]).status === 0 &&
  spawnSync("plackup", ["--version"]).status === 0;

/** The demonstration's people, whose password is their name. `msmith` has no verified address. */
export type Person = "dwho" | "rtyler" | "msmith";
/** Who is in which group. */
const groups = { timelords: "$uid eq 'dwho'", companions: "$uid eq 'rtyler'" };

/** LemonLDAP::NG, the single sign-on of French authorities and universities, as an OpenID provider on this machine. */
export class Lemonldap {
  readonly clientId = "parley";
  /** A secret as people make them, with a character that is not the same in every encoding of forms. */
  readonly clientSecret = randomUUID();
  readonly url: string;
  readonly #home: string;
  readonly #port: number;
  readonly #clientOrigin: string;
  #process: ReturnType<typeof spawn> | null = null;
  #configurations = 0;

  private constructor(home: string, port: number, clientOrigin: string) {
    [this.#home, this.#port, this.#clientOrigin] = [home, port, clientOrigin];
    this.url = `http://127.0.0.1:${port}/`;
  }

  /** Starts it, for a client that is sent back to a service's console at this origin. */
  static async start(clientOrigin: string): Promise<Lemonldap> {
    const home = await mkdtemp(join(tmpdir(), "lemonldap-"));
    for (const folder of ["conf", "sessions", "persistent", "cache"]) await mkdir(join(home, folder));
    const server = new Lemonldap(home, await freePort(), clientOrigin);
    await server.rotateKeys();
    return server;
  }

  /** Signs with another key from now on, and lists that one alone. */
  async rotateKeys(): Promise<void> {
    await this.#end();
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const keys = {
      oidcServicePrivateKeySig: privateKey.export({ type: "pkcs8", format: "pem" }),
      oidcServicePublicKeySig: publicKey.export({ type: "spki", format: "pem" }),
      oidcServiceKeyIdSig: randomUUID(),
    };
    this.#configurations += 1;
    const settings = { cfgNum: this.#configurations, ...this.#settings(), ...keys };
    await writeFile(join(this.#home, "conf", `lmConf-${this.#configurations}.json`), JSON.stringify(settings));
    await writeFile(join(this.#home, "lemonldap-ng.ini"), this.#ini());
    const words = ["--host", "127.0.0.1", "--port", `${this.#port}`, "--no-default-middleware"];
    const env = { ...process.env, LLNG_DEFAULTCONFFILE: join(this.#home, "lemonldap-ng.ini") };
    const program = join(portalFolder, "htdocs", "index.psgi");
    this.#process = spawn("plackup", [...words, program], { env, stdio: "ignore" });
    const discovery = `${this.url}.well-known/openid-configuration`;
    await eventually(async () => (await fetch(discovery).catch(() => null))?.ok === true, 30_000);
  }

  async stop(): Promise<void> {
    await this.#end();
    await rm(this.#home, { recursive: true, force: true });
  }

  async #end(): Promise<void> {
    const child = this.#process;
    if (child === null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    this.#process = null;
  }

  #settings(): object {
    const storage = (folder: string) => ({
      Directory: join(this.#home, folder),
      LockDirectory: join(this.#home, folder),
    });
    return {
      ...{ cfgAuthor: "test", cfgDate: "1", cfgVersion: "2.16.1", portal: this.url, domain: "127.0.0.1" },
      ...{ securedCookie: 0, key: randomUUID(), locationRules: {}, applicationList: {} },
      ...{ authentication: "Demo", userDB: "Same", passwordDB: "Null", registerDB: "Null" },
      ...{ exportedVars: {}, demoExportedVars: { cn: "cn", mail: "mail", uid: "uid" }, groups },
      macros: { isVerified: "$uid eq 'msmith' ? 0 : 1", _whatToTrace: "$uid" },
      whatToTrace: "_whatToTrace",
      ...{ globalStorage: "Apache::Session::File", globalStorageOptions: storage("sessions") },
      ...{ persistentStorage: "Apache::Session::File", persistentStorageOptions: storage("persistent") },
      ...{
        issuerDBOpenIDConnectActivation: 1,
        issuerDBOpenIDConnectRule: "1",
        oidcServiceAllowAuthorizationCodeFlow: 1,
      },
      oidcRPMetaDataOptions: { parley: this.#client() },
      oidcRPMetaDataExportedVars: {
        parley: { email: "mail", email_verified: "isVerified;bool;auto", name: "cn", groups: "groups;string;always" },
      },
      // It has no scope for groups, so they come with the profile.
      oidcRPMetaDataOptionsExtraClaims: { parley: { profile: "name groups" } },
    };
  }

  #client(): object {
    const options = {
      ClientID: this.clientId,
      ClientSecret: this.clientSecret,
      IDTokenSignAlg: "RS256",
      RedirectUris: `${this.#clientOrigin}/console/api/oidc/callback`,
      PostLogoutRedirectUris: `${this.#clientOrigin}/console`,
      BypassConsent: 1,
      RequirePKCE: 1,
      LogoutBypassConfirm: 1,
    };
    return Object.fromEntries(Object.entries(options).map(([name, value]) => [`oidcRPMetaDataOptions${name}`, value]));
  }

  #ini(): string {
    const cache = `{ 'namespace' => 'llng', 'default_expires_in' => 600, 'directory_umask' => '007', 'cache_root' => '${this.#home}/cache', 'cache_depth' => 1 }`;
    return [
      "[all]",
      "logLevel = warn",
      "[configuration]",
      "type = File",
      `dirName = ${this.#home}/conf`,
      "localStorage = Cache::FileCache",
      `localStorageOptions = ${cache}`,
      "[portal]",
      "staticPrefix = /static",
      `templateDir = ${portalFolder}/templates`,
      "languages = en",
      "",
    ].join("\n");
  }
}

/** A person's browser at the provider: it keeps cookies, follows redirects, and fills in the form of the sign-in. */
export class LemonldapBrowser {
  readonly #server: Lemonldap;
  readonly #cookies = new Map<string, string>();
  /** How often it was asked for a password. */
  passwords = 0;

  constructor(server: Lemonldap) {
    this.#server = server;
  }

  /** Goes where the service sends it, signs in where it is asked to, and returns where it is sent back to. */
  async signIn(address: string, person: Person): Promise<URL> {
    let text = "";
    let at = new URL(address);
    let form: URLSearchParams | null = null;
    for (let hops = 0; hops < 10; hops++) {
      if (!at.href.startsWith(this.#server.url)) return at;
      const response: Response = await this.#ask(at, form);
      form = null;
      text = await response.text();
      const location = response.headers.get("location");
      if (location !== null) {
        at = new URL(location, at);
        continue;
      }
      if (!text.includes('name="password"')) break;
      this.passwords += 1;
      form = fieldsOf(text);
      form.set("user", person);
      form.set("password", person);
    }
    throw new Error(`The provider leads nowhere: ${text.slice(0, 2_000)}`);
  }

  /** Follows an address to the end of its redirects, and returns where that is. */
  async follow(address: string): Promise<URL> {
    for (let at = new URL(address), hops = 0; hops < 10; hops++) {
      if (!at.href.startsWith(this.#server.url)) return at;
      const response = await this.#ask(at, null);
      const location = response.headers.get("location");
      if (location === null) throw new Error(`It ends at ${at}: ${(await response.text()).slice(0, 2_000)}`);
      at = new URL(location, at);
    }
    throw new Error("Too many redirects.");
  }

  async #ask(at: URL, form: URLSearchParams | null): Promise<Response> {
    const headers: Record<string, string> = { accept: "text/html" };
    headers.cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const sent = form === null ? {} : { method: "POST", body: form };
    const response = await fetch(at, { ...sent, headers, redirect: "manual" });
    for (const cookie of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (cookie.split(";", 1)[0] as string).split("=");
      this.#cookies.set(name, value);
    }
    return response;
  }
}

/** Returns what the form of a page holds already. */
function fieldsOf(page: string): URLSearchParams {
  const fields = new URLSearchParams();
  for (const [input] of page.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1];
    const value = /value="([^"]*)"/.exec(input)?.[1];
    if (name !== undefined && value !== undefined) fields.set(name, value.replaceAll("&amp;", "&"));
  }
  return fields;
}
