import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import { readBytes } from "../kernel/http/json-body.ts";
import { isId } from "../kernel/ids.ts";
import { withCheck } from "./health.ts";
import type { ReadWebhook } from "./platform.ts";
import { platforms } from "./platforms.ts";
import { receiveMessage, receivePress } from "./receive.ts";
import { chatPlatforms, webhookBytesMax } from "./schema.ts";
import { type ChatConnectionRow, findWebhookConnection, noteWebhookSeen, openChatCredentials } from "./store.ts";

/** Where the chat platforms call (design section 3, "Chat platforms"). Their signature or secret is the credential. */
export function chatWebhookRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/chat/webhooks" }).post("/:platform/:connectionId", ({ request, params }) =>
    receive(ctx, request, params.platform, params.connectionId),
  );
}

/**
 * Verifies a request, notes what it says and answers at once; the turn is a job.
 * Throws 401 for a request that is not verifiably the platform's: it leaves no
 * trace, and does not learn whether there is such a connection.
 */
async function receive(ctx: Ctx, request: Request, label: string, connectionId: string): Promise<Response> {
  const body = await readBytes(request, webhookBytesMax);
  const name = chatPlatforms.find((known) => known === label);
  const known = name !== undefined && isId("chatConnection", connectionId);
  const connection = known ? await findWebhookConnection(ctx.sql, name, connectionId) : null;
  if (connection === null) throw new ApiError("unauthorized");
  const platform = platforms[connection.platform];
  if (!platform.verify(openChatCredentials(ctx.sealer, connection), request.headers, body))
    throw new ApiError("unauthorized");
  const mediaType = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  const { incoming, responseBody } = read(() => platform.read(receivingBotOf(connection), body, mediaType));
  if (connection.webhookSeenAt === null)
    await noteWebhookSeen(ctx.sql, connection, withCheck(connection.health, "webhook_url", "pass"));
  if (incoming !== null && connection.enabled) {
    const taken = await (incoming.kind === "message"
      ? receiveMessage(ctx.sql, connection, incoming)
      : receivePress(ctx.sql, connection, incoming));
    ctx.log.debug({ connectionId, kind: incoming.kind, taken }, "a chat platform called");
  }
  return responseBody === null ? new Response(null, { status: 200 }) : Response.json(responseBody);
}

function receivingBotOf(connection: ChatConnectionRow) {
  return { identity: connection, botName: connection.botName, configuration: connection.configuration };
}

function read(work: () => ReadWebhook): ReadWebhook {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ApiError("validation_failed", { message: "The body is not what this platform sends." });
  }
}
