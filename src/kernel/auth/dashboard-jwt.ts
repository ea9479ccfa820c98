import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTPayload, jwtVerify } from "jose";
import { readBounded } from "../bounded-read.ts";
import type { Config } from "../config.ts";
import { unavailable } from "../database/failure.ts";
import { ApiError } from "../errors.ts";

/** A key that the JWKS did not have is looked for again after this long: a rotation is known by then, and strangers cannot make us ask more often. */
const jwksAskAgainMs = 1_000;
/** The JWKS is read within this, or the request is 503. */
const jwksTimeoutMs = 5_000;
/** A JWKS may weigh this much. */
const jwksBytesMax = 1024 * 1024;
/** The algorithms a JWKS may use. None of them takes a secret, so a public key cannot be passed off as one. */
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

/** The JWKS cannot be read; that says nothing about the token. */
class JwksUnreachable extends Error {
  override readonly name = "JwksUnreachable";
}

/**
 * Makes the check of dashboard JWTs (docs/decisions.md, "Credentials"): HS256 on the secret only, or the JWKS's
 * own algorithms. Throws 401 for a token that is not valid or has no `exp`, 503 when the JWKS cannot be read.
 */
export function jwtVerifier(
  config: Pick<Config, "dashboardJwtSecret" | "dashboardJwksUrl">,
): (token: string) => Promise<JWTPayload> {
  const verify = verifierOf(config);
  return async (token) => {
    if (verify === null) throw new ApiError("unauthorized");
    try {
      return await verify(token);
    } catch (error) {
      const unreachable = error instanceof JwksUnreachable || error instanceof errors.JWKSTimeout;
      throw unreachable ? unavailable() : new ApiError("unauthorized");
    }
  };
}

function verifierOf({
  dashboardJwtSecret,
  dashboardJwksUrl,
}: Pick<Config, "dashboardJwtSecret" | "dashboardJwksUrl">): ((token: string) => Promise<JWTPayload>) | null {
  const requiredClaims = ["exp"];
  if (dashboardJwtSecret !== null) {
    const secret = new TextEncoder().encode(dashboardJwtSecret);
    return async (token) => (await jwtVerify(token, secret, { requiredClaims, algorithms: ["HS256"] })).payload;
  }
  if (dashboardJwksUrl === null) return null;
  const keys = createRemoteJWKSet(new URL(dashboardJwksUrl), {
    cooldownDuration: jwksAskAgainMs,
    timeoutDuration: jwksTimeoutMs,
    [customFetch]: fetchJwks,
  });
  return async (token) => (await jwtVerify(token, keys, { requiredClaims, algorithms: jwksAlgorithms })).payload;
}

const fetchJwks: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options).catch((error: unknown) => {
    // The time limit keeps its own name.
    throw error instanceof Error && error.name === "TimeoutError" ? error : new JwksUnreachable();
  });
  if (response.status !== 200) throw new JwksUnreachable();
  // A page that some proxy sends with 200 says nothing about the token either.
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
