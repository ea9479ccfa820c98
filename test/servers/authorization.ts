import { createHash, randomBytes } from "node:crypto";
import { type HttpServer, listen } from "../../src/kernel/runtime.ts";

/** A request to the authorization server. */
export interface AuthorizationRequest {
  readonly path: string;
  readonly fields: URLSearchParams;
}

interface Client {
  readonly id: string;
  readonly secret: string | null;
  readonly redirectUris: readonly string[];
}

interface Grant {
  readonly clientId: string;
  readonly resource: string;
  readonly scope: string;
}

interface Code extends Grant {
  readonly challenge: string;
  readonly redirectUri: string;
}

/** What a test may set while the server runs. */
export interface AuthorizationServerSettings {
  /** Life of an access token. */
  expiresInSeconds: number;
  /** The person refuses. */
  refuses: boolean;
  /** Refuses every grant at the token endpoint with this OAuth error. */
  grantError: string | null;
  /** Responses of the token endpoint take this long. */
  delayMs: number;
  /** They wait for this, too. */
  until: Promise<void> | null;
  /** Fields that replace those of the metadata; null takes one away. */
  metadata: Record<string, unknown>;
  /** Fields that replace those of the metadata, whatever they are, null too. */
  odd: object;
  /** Fields that replace those of a registration. */
  registration: object;
  /** Fields that replace those of the answer to a request for tokens; they may depend on the access token. */
  token: object | ((accessToken: string) => object);
  /** Tokens are answered as a form, as GitHub does. */
  tokenAsForm: boolean;
  /** What is answered at a path instead. */
  answer: { readonly path: string; readonly with: () => Response } | null;
  /** The issuer that its answer in the browser names. */
  iss: string | null;
}

/**
 * A real OAuth 2.1 authorization server for tests: metadata (RFC 8414), dynamic
 * registration (RFC 7591), authorization code with PKCE S256 and `resource`
 * (RFC 8707), client credentials, refresh with rotation and detection of reuse,
 * revocation (RFC 7009). The person at the browser agrees at once.
 */
export class AuthorizationServer {
  readonly requests: AuthorizationRequest[] = [];
  readonly revoked: string[] = [];
  readonly settings: AuthorizationServerSettings = {
    expiresInSeconds: 3600,
    refuses: false,
    grantError: null,
    delayMs: 0,
    until: null,
    metadata: {},
    odd: {},
    registration: {},
    token: {},
    tokenAsForm: false,
    answer: null,
    iss: null,
  };
  readonly #clients = new Map<string, Client>();
  readonly #codes = new Map<string, Code>();
  readonly #access = new Map<string, Grant & { endsAt: number }>();
  readonly #refresh = new Map<string, Grant & { used: boolean }>();
  readonly #server: HttpServer;

  constructor() {
    this.#server = listen({ hostname: "127.0.0.1", port: 0, fetch: (request) => this.#respond(request) });
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  /** Makes a client that the tenant knows by id and secret. */
  addClient(redirectUris: readonly string[] = []): { clientId: string; clientSecret: string } {
    const client = { id: `client-${random()}`, secret: `secret-${random()}`, redirectUris };
    this.#clients.set(client.id, client);
    return { clientId: client.id, clientSecret: client.secret };
  }

  /** Whether a token is good at this resource. */
  isValid(token: string, resource: string): boolean {
    const grant = this.#access.get(token);
    return grant !== undefined && grant.endsAt > Date.now() && grant.resource === resource;
  }

  /** Ends every access token; refresh tokens stay. */
  expireAccessTokens(): void {
    this.#access.clear();
  }

  /** Forgets every refresh token, as after a person took the consent back. */
  forgetRefreshTokens(): void {
    this.#refresh.clear();
  }

  /** How often a grant of this type was asked for. */
  grants(type: string): number {
    return this.requests.filter(({ path, fields }) => path === "/token" && fields.get("grant_type") === type).length;
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  async #respond(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const isForm = request.headers.get("content-type")?.startsWith("application/x-www-form-urlencoded") ?? false;
    const fields = isForm ? new URLSearchParams(await request.text()) : searchParams;
    this.requests.push({ path: pathname, fields });
    const { answer } = this.settings;
    if (answer?.path === pathname) return answer.with();
    switch (pathname) {
      case "/.well-known/oauth-authorization-server":
      case "/.well-known/openid-configuration":
        return Response.json(this.#metadata());
      case "/register":
        return this.#register((await request.json()) as { redirect_uris: string[] });
      case "/authorize":
        return this.#authorize(fields);
      case "/token":
        await new Promise((resolve) => setTimeout(resolve, this.settings.delayMs));
        await this.settings.until;
        return this.#token(request, fields);
      case "/revoke":
        return this.#revoke(request, fields);
      default:
        return new Response("not found", { status: 404 });
    }
  }

  #metadata(): Record<string, unknown> {
    const all = {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      registration_endpoint: `${this.issuer}/register`,
      revocation_endpoint: `${this.issuer}/revoke`,
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "client_credentials", "refresh_token"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
      authorization_response_iss_parameter_supported: true,
      ...this.settings.metadata,
    };
    return { ...Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)), ...this.settings.odd };
  }

  #register({ redirect_uris }: { redirect_uris: string[] }): Response {
    const id = `dynamic-${random()}`;
    this.#clients.set(id, { id, secret: null, redirectUris: redirect_uris });
    const made = { client_id: id, redirect_uris, token_endpoint_auth_method: "none", ...this.settings.registration };
    return Response.json(made, { status: 201 });
  }

  #authorize(query: URLSearchParams): Response {
    const client = this.#clients.get(query.get("client_id") ?? "");
    const redirectUri = query.get("redirect_uri") ?? "";
    if (client === undefined || !client.redirectUris.includes(redirectUri)) return new Response("no", { status: 400 });
    const back = new URL(redirectUri);
    back.searchParams.set("state", query.get("state") ?? "");
    back.searchParams.set("iss", this.settings.iss ?? this.issuer);
    const isComplete =
      query.get("response_type") === "code" &&
      query.get("code_challenge_method") === "S256" &&
      query.get("code_challenge") !== null &&
      query.get("resource") !== null;
    if (!isComplete || this.settings.refuses) {
      back.searchParams.set("error", isComplete ? "access_denied" : "invalid_request");
      return new Response(null, { status: 302, headers: { location: back.href } });
    }
    const code = random();
    this.#codes.set(code, {
      clientId: client.id,
      resource: query.get("resource") ?? "",
      scope: query.get("scope") ?? "",
      challenge: query.get("code_challenge") ?? "",
      redirectUri,
    });
    back.searchParams.set("code", code);
    return new Response(null, { status: 302, headers: { location: back.href } });
  }

  #token(request: Request, fields: URLSearchParams): Response {
    const client = this.#authenticate(request, fields);
    if (client === null) return oauthError("invalid_client", 401);
    if (this.settings.grantError !== null) return oauthError(this.settings.grantError);
    const resource = fields.get("resource") ?? "";
    switch (fields.get("grant_type")) {
      case "client_credentials":
        if (client.secret === null) return oauthError("unauthorized_client");
        return this.#issue({ clientId: client.id, resource, scope: fields.get("scope") ?? "" }, false);
      case "authorization_code":
        return this.#redeemCode(client, fields);
      case "refresh_token":
        return this.#redeemRefreshToken(client, fields.get("refresh_token") ?? "");
      default:
        return oauthError("unsupported_grant_type");
    }
  }

  #redeemCode(client: Client, fields: URLSearchParams): Response {
    const code = this.#codes.get(fields.get("code") ?? "");
    this.#codes.delete(fields.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(fields.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight =
      code !== undefined &&
      code.clientId === client.id &&
      code.challenge === challenge &&
      code.redirectUri === fields.get("redirect_uri") &&
      code.resource === fields.get("resource");
    return isRight ? this.#issue(code, true) : oauthError("invalid_grant");
  }

  /** A refresh token is good once; a second use revokes all that came of it. */
  #redeemRefreshToken(client: Client, token: string): Response {
    const grant = this.#refresh.get(token);
    if (grant === undefined || grant.clientId !== client.id) return oauthError("invalid_grant");
    if (grant.used) {
      this.#refresh.clear();
      this.#access.clear();
      return oauthError("invalid_grant");
    }
    this.#refresh.set(token, { ...grant, used: true });
    return this.#issue(grant, true);
  }

  #issue({ clientId, resource, scope }: Grant, withRefresh: boolean): Response {
    const { expiresInSeconds } = this.settings;
    const access = `access-${random()}`;
    this.#access.set(access, { clientId, resource, scope, endsAt: Date.now() + expiresInSeconds * 1000 });
    const refresh = withRefresh ? `refresh-${random()}` : null;
    if (refresh !== null) this.#refresh.set(refresh, { clientId, resource, scope, used: false });
    const { token, tokenAsForm } = this.settings;
    const made: Record<string, unknown> = {
      access_token: access,
      token_type: "Bearer",
      expires_in: expiresInSeconds,
      ...(refresh === null ? {} : { refresh_token: refresh }),
      ...(typeof token === "function" ? token(access) : token),
    };
    return tokenAsForm ? new Response(new URLSearchParams(made as Record<string, string>)) : Response.json(made);
  }

  #revoke(request: Request, fields: URLSearchParams): Response {
    if (this.#authenticate(request, fields) === null) return oauthError("invalid_client", 401);
    const token = fields.get("token") ?? "";
    this.#access.delete(token);
    this.#refresh.delete(token);
    this.revoked.push(token);
    return new Response(null, { status: 200 });
  }

  #authenticate(request: Request, fields: URLSearchParams): Client | null {
    const basic = /^Basic (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
    const [id, secret] =
      basic === undefined
        ? [fields.get("client_id") ?? "", fields.get("client_secret")]
        : (Buffer.from(basic, "base64").toString().split(":") as [string, string]);
    const client = this.#clients.get(id);
    return client === undefined || client.secret !== secret ? null : client;
  }
}

function oauthError(error: string, status = 400): Response {
  return Response.json({ error, error_description: "as the test wants it" }, { status });
}

function random(): string {
  return randomBytes(12).toString("hex");
}
