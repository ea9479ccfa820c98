/** Every API key begins with this. */
export const keyPrefix = "parley_";
/** Every client token begins with this; what follows has the length of any token. */
export const clientTokenPrefix = "parleyc_";
/** Credentials are far shorter; a longer text is refused before it costs time to hash or parse. */
const credentialLengthMax = 8_192;

/** Returns the credential of an `Authorization` header, however its scheme is spelt; null where it holds none. */
export function bearerOf(authorization: string | null): string | null {
  const credential = /^Bearer +([^\s]+)$/i.exec(authorization ?? "")?.[1];
  return credential === undefined || credential.length > credentialLengthMax ? null : credential;
}
