import * as client from "openid-client";
import type { OidcConfig } from "../../kernel/oidc-config.ts";
import { askProvider } from "./provider-fetch.ts";

/** The identity provider's clock and this one may be this far apart. */
export const clockLeewaySeconds = 30;
/** Each request to the provider has so long, connecting included. */
const requestSecondsMax = 5;
/** The discovery document is read again after this long. */
const documentKeptMs = 60_000;
/** Where it could not be read, it is asked for again after this long at the earliest. */
const askAgainMs = 1_000;

/** What a sign-in is begun and finished with, known to this service only. */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** What the provider said of who has signed in. */
export interface ProviderClaims {
  /** Of the ID token, whose signature was verified, and where that lacks them, of the user info. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Where the provider's own session is ended; null where it does not offer that. */
  readonly endSessionUrl: string | null;
}

type Metadata = ReturnType<client.Configuration["serverMetadata"]>;

/**
 * The identity provider of the console. Nothing is asked of it before the first sign-in, and nothing of this process
 * depends on it: while it is away, sign-ins by it are 503. Its keys are read for each sign-in, so that a rotation is known at once.
 */
export class IdentityProvider {
  readonly #config: OidcConfig;
  readonly #callbackUrl: string;
  readonly #homeUrl: string;
  #document: { readonly metadata: Metadata; readonly readAtMs: number } | null = null;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #failure: unknown = null;
  #reading: Promise<Metadata> | null = null;

  constructor(config: OidcConfig, publicUrl: string) {
    this.#config = config;
    this.#callbackUrl = `${publicUrl}/console/api/oidc/callback`;
    this.#homeUrl = `${publicUrl}/console`;
  }

  /** Returns where the browser is sent to sign in. Throws what `isProviderAway` knows (`provider-fetch.ts`), or another error for a document that cannot be used. */
  async signInUrl({ state, nonce, verifier }: FlowSecrets): Promise<URL> {
    const configuration = this.#configurationOf(await this.#metadata());
    return client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#callbackUrl,
      scope: scopesOf(configuration.serverMetadata(), this.#config.groupsClaim),
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
  }

  /** Exchanges the code that came back in a callback's query, and returns what the provider says of who signed in. Throws as `signInUrl`, and where anything of it is not right. */
  async finish(query: string, { state, nonce, verifier }: FlowSecrets): Promise<ProviderClaims> {
    const configuration = this.#configurationOf(await this.#metadata());
    const tokens = await client.authorizationCodeGrant(configuration, new URL(this.#callbackUrl + query), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const idToken = tokens.claims();
    if (idToken === undefined) throw new Error("The provider sent no ID token.");
    const metadata = configuration.serverMetadata();
    const isWhole = idToken.email !== undefined && idToken[this.#config.groupsClaim] !== undefined;
    const info: Readonly<Record<string, unknown>> =
      isWhole || metadata.userinfo_endpoint === undefined
        ? {}
        : await client.fetchUserInfo(configuration, tokens.access_token, idToken.sub);
    // An address and whether it was verified are from one place.
    const { email, email_verified } = idToken.email === undefined ? info : idToken;
    const claims = { ...info, ...idToken, email, email_verified };
    return { claims, endSessionUrl: this.#endSessionUrl(configuration, tokens.id_token) };
  }

  #endSessionUrl(configuration: client.Configuration, idToken: string | undefined): string | null {
    if (configuration.serverMetadata().end_session_endpoint === undefined || idToken === undefined) return null;
    const parameters = { id_token_hint: idToken, post_logout_redirect_uri: this.#homeUrl };
    return client.buildEndSessionUrl(configuration, parameters).href;
  }

  /** A configuration has no keys yet: the library keeps those that it has read, and would not know a new one for a minute. */
  #configurationOf(metadata: Metadata): client.Configuration {
    const { issuer, clientId, clientSecret } = this.#config;
    const configuration = new client.Configuration(
      { ...metadata },
      clientId,
      { client_secret: clientSecret, [client.clockTolerance]: clockLeewaySeconds },
      authenticationOf(metadata)(clientSecret),
    );
    configuration.timeout = requestSecondsMax;
    configuration[client.customFetch] = askProvider;
    // The standard lets a client trust an ID token that came over TLS. This one is verified always.
    client.enableNonRepudiationChecks(configuration);
    if (isPlainHttp(issuer)) client.allowInsecureRequests(configuration);
    return configuration;
  }

  /** All sign-ins that begin while the document is read wait for the same request. */
  #metadata(): Promise<Metadata> {
    const nowMs = performance.now();
    if (this.#document !== null && nowMs - this.#document.readAtMs < documentKeptMs)
      return Promise.resolve(this.#document.metadata);
    if (nowMs - this.#failedAtMs < askAgainMs) return Promise.reject(this.#failure);
    this.#reading ??= this.#discover().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #discover(): Promise<Metadata> {
    const { issuer, clientId, clientSecret } = this.#config;
    try {
      const found = await client.discovery(new URL(issuer), clientId, clientSecret, undefined, {
        [client.customFetch]: askProvider,
        timeout: requestSecondsMax,
        ...(isPlainHttp(issuer) && { execute: [client.allowInsecureRequests] }),
      });
      const metadata = found.serverMetadata();
      this.#document = { metadata, readAtMs: performance.now() };
      return metadata;
    } catch (error) {
      [this.#failure, this.#failedAtMs] = [error, performance.now()];
      throw error;
    }
  }
}

/** The operator who names an issuer with http wants that; of one with https nothing is asked without. */
function isPlainHttp(issuer: string): boolean {
  return issuer.startsWith("http:");
}

/** How a client shows its secret: as the standard has it where nothing else is said, or in the body where only that is taken. */
function authenticationOf({ token_endpoint_auth_methods_supported: methods }: Metadata) {
  const isInBody = methods !== undefined && !methods.includes("client_secret_basic");
  return isInBody && methods.includes("client_secret_post") ? client.ClientSecretPost : clientSecretBasic;
}

/**
 * `client_secret_basic`, in which the library writes `-`, `_` and `.` as `%2D`, `%5F` and `%2E`. Forms are not written so, and some providers, of
 * which LemonLDAP::NG is one, read the secret as it comes.
 */
function clientSecretBasic(clientSecret: string): client.ClientAuth {
  return (_, { client_id }, __, headers) => {
    const pair = [client_id, clientSecret].map((text) =>
      new URLSearchParams({ text }).toString().slice("text=".length),
    );
    headers.set("authorization", `Basic ${Buffer.from(pair.join(":")).toString("base64")}`);
  };
}

/** Some providers tell groups only to who asks for them. */
function scopesOf({ scopes_supported: supported = [] }: Metadata, groupsClaim: string): string {
  return ["openid", "email", "profile", ...(supported.includes(groupsClaim) ? [groupsClaim] : [])].join(" ");
}
