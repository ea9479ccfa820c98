import type { OAuthMetadata } from "../wire/sdk.ts";

/** What is kept of the metadata of an authorization server: what tokens need. */
export type ServerMetadata = Pick<
  OAuthMetadata,
  | "issuer"
  | "token_endpoint"
  | "registration_endpoint"
  | "revocation_endpoint"
  | "response_types_supported"
  | "code_challenge_methods_supported"
  | "token_endpoint_auth_methods_supported"
  | "authorization_response_iss_parameter_supported"
> & {
  /** Not said by a server where no person signs in. */
  readonly authorization_endpoint?: string;
  readonly client_id_metadata_document_supported?: boolean;
};
