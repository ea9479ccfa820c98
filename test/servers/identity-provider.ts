import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import Provider from "oidc-provider";
import { type LoopbackServer, startLoopback } from "./loopback.ts";

/** Who signs in next, as the provider knows them. */
export interface Account {
  readonly email: string;
  readonly email_verified?: unknown;
  readonly name?: string;
  readonly groups?: unknown;
}

/** What a test may change of what the provider answers at a path, before it is sent. */
export type Tamper = (path: string, body: Record<string, unknown>) => unknown;

/** A browser's cookies at the provider, by name. */
type Jar = Map<string, string>;

/**
 * `oidc-provider`, a certified OpenID provider, on this machine. Its person signs in and consents at once. It lists no
 * claims in ID tokens but asks clients to read them at its user info, as is its default.
 */
export class IdentityProviderServer {
  readonly clientId = "parley";
  readonly clientSecret = "a client secret of 32 characters";
  /** The paths that were asked for. */
  readonly asked: string[] = [];
  account: Account = { email: "nobody@example.org" };
  tamper: Tamper | null = null;
  /** What every request gets instead. */
  fault: ((response: ServerResponse) => void) | null = null;
  readonly #accounts = new Map<string, Account>();
  #server: LoopbackServer | null = null;
  #handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => {};
  #key: JWK = {};

  /** The issuer. */
  get url(): string {
    if (this.#server === null) throw new Error("The provider has not been started.");
    return this.#server.origin;
  }

  /** Starts it, for a client that is sent back to a service's console at this origin. */
  async start(clientOrigin: string): Promise<void> {
    this.#server = await startLoopback(async (request, response) => {
      this.asked.push((request.url ?? "").split("?")[0] as string);
      if (this.fault !== null) return this.fault(response);
      if (this.tamper !== null) this.#watch(request, response, this.tamper);
      return this.#handle(request, response);
    });
    this.#clientOrigin = clientOrigin;
    await this.rotateKeys();
  }

  #clientOrigin = "";

  /** Signs with another key from now on, and lists that one alone. */
  async rotateKeys(): Promise<void> {
    const { privateKey } = await generateKeyPair("RS256", { extractable: true });
    this.#key = { ...(await exportJWK(privateKey)), kid: randomUUID(), alg: "RS256", use: "sig" };
    const provider = new Provider(this.url, {
      jwks: { keys: [this.#key] },
      clients: [
        {
          client_id: this.clientId,
          client_secret: this.clientSecret,
          redirect_uris: [`${this.#clientOrigin}/console/api/oidc/callback`],
          post_logout_redirect_uris: [`${this.#clientOrigin}/console`],
        },
      ],
      claims: { email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
      cookies: { keys: ["a key of cookies"] },
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ ...this.#accounts.get(id), sub: id }) }),
      loadExistingGrant: async ({ oidc }) => {
        const grant = new provider.Grant({ clientId: this.clientId, accountId: oidc.session?.accountId as string });
        grant.addOIDCScope("openid email profile groups");
        await grant.save();
        return grant;
      },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      features: { devInteractions: { enabled: false } },
    });
    const handle = provider.callback();
    this.#handle = async (request, response) => {
      if (!request.url?.startsWith("/interaction/")) return handle(request, response);
      const accountId = randomUUID();
      this.#accounts.set(accountId, { email_verified: true, ...this.account });
      return provider.interactionFinished(
        request,
        response,
        { login: { accountId } },
        { mergeWithLastSubmission: false },
      );
    };
  }

  /** Returns an ID token with other claims, signed with the provider's key. */
  async resigned(
    idToken: string,
    claims: (own: Record<string, unknown>) => object,
    header: object = {},
  ): Promise<string> {
    const own = JSON.parse(Buffer.from(idToken.split(".")[1] as string, "base64url").toString());
    return new SignJWT({ ...own, ...claims(own) })
      .setProtectedHeader({ alg: "RS256", kid: this.#key.kid as string, ...header })
      .sign(await importJWK(this.#key, "RS256"));
  }

  /** Follows a sign-in from the provider's address on, as a browser without cookies, until it leads back. Returns where to. */
  async signIn(address: string): Promise<URL> {
    const jar: Jar = new Map();
    for (let at = new URL(address); ; ) {
      if (at.origin !== this.url) return at;
      const headers = { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") };
      const response = await fetch(at, { headers, redirect: "manual" });
      for (const cookie of response.headers.getSetCookie()) {
        const [name = "", value = ""] = (cookie.split(";", 1)[0] as string).split("=");
        jar.set(name, value);
      }
      const location = response.headers.get("location");
      if (location === null) throw new Error(`The provider answered ${response.status}: ${await response.text()}`);
      at = new URL(location, at);
    }
  }

  stop(): void {
    this.#server?.stop();
  }

  /** Lets a test change JSON that the provider answers. */
  #watch(request: IncomingMessage, response: ServerResponse, tamper: Tamper): void {
    const path = (request.url ?? "").split("?")[0] as string;
    const end = response.end.bind(response);
    // biome-ignore lint/suspicious/noExplicitAny: the overloads of Node.
    (response as any).end = (body: unknown) => {
      const text = typeof body === "string" || body instanceof Uint8Array ? Buffer.from(body as never).toString() : "";
      if (!text.startsWith("{")) return end(body as never);
      void Promise.resolve(tamper(path, JSON.parse(text))).then((changed) => {
        const sent = JSON.stringify(changed);
        response.setHeader("content-length", Buffer.byteLength(sent));
        end(sent);
      });
      return response;
    };
  }
}
