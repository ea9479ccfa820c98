/** The identity provider that signs people in to the console (docs/sign-in.md). */
export interface OidcConfig {
  /** As the provider says it in its discovery document and in its tokens. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What the button calls it. */
  readonly name: string;
  /** The claim that has a person's groups. */
  readonly groupsClaim: string;
  /** Who is in this group is an operator; null: nobody is by a group. */
  readonly operatorGroup: string | null;
}

/** What is wrong with the variables; the message names them. */
export class OidcConfigFault extends Error {
  override readonly name = "OidcConfigFault";
}

/** Returns the identity provider that the variables name; null where they name none. Throws `OidcConfigFault`. */
export function readOidcConfig(text: (name: string) => string | null): OidcConfig | null {
  const [issuer, clientId, clientSecret] = [
    text("CONSOLE_OIDC_ISSUER"),
    text("CONSOLE_OIDC_CLIENT_ID"),
    text("CONSOLE_OIDC_CLIENT_SECRET"),
  ];
  const [name, groupsClaim, operatorGroup] = [
    text("CONSOLE_OIDC_NAME"),
    text("CONSOLE_OIDC_GROUPS_CLAIM"),
    text("CONSOLE_OIDC_OPERATOR_GROUP"),
  ];
  if (issuer === null && clientId === null && clientSecret === null) {
    if (operatorGroup !== null) throw new OidcConfigFault("CONSOLE_OIDC_OPERATOR_GROUP needs CONSOLE_OIDC_ISSUER.");
    return null;
  }
  if (issuer === null || clientId === null || clientSecret === null)
    throw new OidcConfigFault(
      "CONSOLE_OIDC_ISSUER, CONSOLE_OIDC_CLIENT_ID and CONSOLE_OIDC_CLIENT_SECRET are needed together.",
    );
  return {
    issuer: readIssuer(issuer),
    clientId,
    clientSecret,
    name: name ?? new URL(issuer).host,
    groupsClaim: groupsClaim ?? "groups",
    operatorGroup,
  };
}

/** An issuer is compared as it is, so nothing of it is cut. */
function readIssuer(issuer: string): string {
  const url = URL.canParse(issuer) ? new URL(issuer) : null;
  const isPlain = url !== null && url.search === "" && url.hash === "" && url.username === "" && url.password === "";
  if (!isPlain || !["http:", "https:"].includes(url.protocol))
    throw new OidcConfigFault(
      "CONSOLE_OIDC_ISSUER must be a URL that starts with https:// or http://, without a query.",
    );
  return issuer;
}
