import type { AnySql } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { randomBody } from "../kernel/ids.ts";
import type { Sealer } from "../kernel/seal.ts";

/** A signed URL of a picture is valid for this long. */
const avatarUrlSeconds = 15 * 60;
/** Length of the random name that distinguishes one picture of an agent from the next. */
const avatarIdLength = 24;

/** What signing needs of the context. */
export interface UrlSigner {
  readonly sealer: Pick<Sealer, "sign">;
  readonly publicUrl: string;
}

/** Returns a name for a new picture. It is part of what is signed and in no response, so that a replaced picture's URLs fail. */
export function newAvatarId(): string {
  return randomBody(avatarIdLength);
}

/** Returns the absolute URL of an agent's picture, valid without a credential for 15 minutes. */
export function avatarUrl({ sealer, publicUrl }: UrlSigner, agentId: string, avatarId: string): string {
  const expires = String(Math.floor(Date.now() / 1000) + avatarUrlSeconds);
  const signature = sealer.sign(signedText(agentId, avatarId, expires));
  return `${publicUrl}/v1/avatars/${agentId}?expires=${expires}&signature=${signature}`;
}

function signedText(agentId: string, avatarId: string, expires: string): string {
  return `avatar:${agentId}:${avatarId}:${expires}`;
}

interface Picture {
  avatarId: string;
  mediaType: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Returns the response with the picture behind a signed URL. Throws 404 for every
 * other URL: invented, altered, expired, or of a picture that was removed or
 * replaced.
 */
export async function serveAvatar(
  sql: AnySql,
  sealer: Pick<Sealer, "isSigned">,
  agentId: string,
  query: string,
): Promise<Response> {
  const match = /^\?expires=(\d{1,12})&signature=([A-Za-z0-9_-]{43})$/.exec(query);
  const [, expires = "", signature = ""] = match ?? [];
  const secondsLeft = Number(expires) - Math.floor(Date.now() / 1000);
  if (match === null || secondsLeft <= 0) throw new ApiError("not_found");
  const [picture] = await sql<Picture[]>`
    select avatar_id, avatar_media_type as media_type, avatar as bytes from agents
    where id = ${agentId} and avatar_id is not null`;
  if (picture === undefined || !sealer.isSigned(signedText(agentId, picture.avatarId, expires), signature))
    throw new ApiError("not_found");
  return new Response(picture.bytes, {
    headers: {
      "Content-Type": picture.mediaType,
      "Cache-Control": `private, max-age=${secondsLeft}`,
      "Content-Security-Policy": "default-src 'none'; sandbox",
      "X-Content-Type-Options": "nosniff",
    },
  });
}
