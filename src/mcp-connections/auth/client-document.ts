import type { AuthorizationServer } from "./discovery.ts";

/**
 * The page of this service's callback, and the document that describes it as a client
 * (OAuth client id metadata documents): its address is the client's id, where an
 * authorization server takes that in place of a registration.
 */
const documentPath = "/connect/mcp-client";

/** Returns where an authorization server sends the browser back to. */
export function callbackUrl({ publicUrl }: { readonly publicUrl: string }): string {
  return `${publicUrl}/connect/mcp-callback`;
}

/** Returns how this service describes itself to authorization servers. */
export function clientMetadata(ctx: { readonly publicUrl: string }) {
  return {
    client_name: "Parley",
    application_type: "web",
    redirect_uris: [callbackUrl(ctx)],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
}

/** Returns the document at `/connect/mcp-client`. */
export function clientDocument(ctx: { readonly publicUrl: string }) {
  return { client_id: clientDocumentUrl(ctx), token_endpoint_auth_method: "none", ...clientMetadata(ctx) };
}

/** Returns the client id for a server that takes such documents; null: it does not, or this service has no https address to be asked at. */
export function documentedClientId(ctx: { readonly publicUrl: string }, server: AuthorizationServer): string | null {
  const takes = server.metadata.client_id_metadata_document_supported === true;
  return takes && ctx.publicUrl.startsWith("https://") ? clientDocumentUrl(ctx) : null;
}

function clientDocumentUrl({ publicUrl }: { readonly publicUrl: string }): string {
  return `${publicUrl}${documentPath}`;
}
