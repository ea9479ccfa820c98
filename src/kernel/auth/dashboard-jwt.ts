import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTPayload, jwtVerify } from "jose";
import { readBounded } from "../bounded-read.ts";
import type { Config } from "../config.ts";
import { unavailable } from "../database/failure.ts";
import { ApiError } from "../errors.ts";

/** The JWKS is read again for an unknown key after this long at the earliest: a new key is known soon, and tokens with invented keys cause no more requests than that. */
const jwksAskAgainMs = 1_000;
/** Time limit for reading the JWKS; after it the request gets a 503. */
const jwksTimeoutMs = 5_000;
/** The issuer's clock and this one may be this far apart. */
const leewaySeconds = 30;
/** The most bytes of a JWKS. */
const jwksBytesMax = 1024 * 1024;
/** The algorithms that a JWKS may use. None of them uses a shared secret, so a public key cannot be used as one. */
const jwksAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** The JWKS cannot be read, so whether the token is valid is unknown. */
class JwksUnreachable extends Error {
  override readonly name = "JwksUnreachable";
}

/** What of the configuration decides about dashboard JWTs. */
export type DashboardJwtConfig = Pick<
  Config,
  "dashboardJwtSecret" | "dashboardJwksUrl" | "dashboardJwtAudience" | "dashboardJwtIssuer"
>;

/**
 * Returns the check of dashboard JWTs (docs/decisions/keys.md): HS256 with the secret only, or the JWKS's
 * own algorithms; where an audience or an issuer is configured, the token's has to be that one. The check returns the
 * claims. It throws 401 for a token that is not valid or has no `exp`, 503 when the JWKS cannot be read.
 */
export function jwtVerifier(config: DashboardJwtConfig): (token: string) => Promise<JWTPayload> {
  const verify = verifierOf(config);
  return async (token) => {
    if (verify === null) throw new ApiError("unauthorized");
    try {
      const claims = await verify(token);
      // `jose` checks this one only where a token has an age at most.
      if (Number(claims.iat ?? 0) > Date.now() / 1000 + leewaySeconds) throw new ApiError("unauthorized");
      return claims;
    } catch (error) {
      const unreachable = error instanceof JwksUnreachable || error instanceof errors.JWKSTimeout;
      throw unreachable ? unavailable() : new ApiError("unauthorized");
    }
  };
}

function verifierOf(config: DashboardJwtConfig): ((token: string) => Promise<JWTPayload>) | null {
  const { dashboardJwtSecret, dashboardJwksUrl, dashboardJwtAudience, dashboardJwtIssuer } = config;
  const claims = {
    requiredClaims: ["exp"],
    clockTolerance: leewaySeconds,
    ...(dashboardJwtAudience !== null && { audience: dashboardJwtAudience }),
    ...(dashboardJwtIssuer !== null && { issuer: dashboardJwtIssuer }),
  };
  if (dashboardJwtSecret !== null) {
    const secret = new TextEncoder().encode(dashboardJwtSecret);
    return async (token) => (await jwtVerify(token, secret, { ...claims, algorithms: ["HS256"] })).payload;
  }
  if (dashboardJwksUrl === null) return null;
  const keys = createRemoteJWKSet(new URL(dashboardJwksUrl), {
    cooldownDuration: jwksAskAgainMs,
    timeoutDuration: jwksTimeoutMs,
    [customFetch]: fetchJwks,
  });
  return async (token) => (await jwtVerify(token, keys, { ...claims, algorithms: jwksAlgorithms })).payload;
}

const fetchJwks: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options).catch((error: unknown) => {
    // `jose` recognises its time limit by the error's name.
    throw error instanceof Error && error.name === "TimeoutError" ? error : new JwksUnreachable();
  });
  if (response.status !== 200) throw new JwksUnreachable();
  // With a page that a proxy sends with 200, whether the token is valid is unknown too.
  const text = await readBounded(response.body, jwksBytesMax).then(
    (bytes) => new TextDecoder().decode(bytes),
    (error: unknown) => {
      throw error instanceof Error && error.name === "TimeoutError" ? error : new JwksUnreachable();
    },
  );
  if (!isJwks(text)) throw new JwksUnreachable();
  return new Response(text);
};

function isJwks(text: string): boolean {
  try {
    const { keys } = JSON.parse(text);
    return Array.isArray(keys) && keys.every((key) => typeof key === "object" && key !== null);
  } catch {
    return false;
  }
}
