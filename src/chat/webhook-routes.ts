import { Elysia } from "elysia";
import { StrangeBodies } from "../kernel/admission/strange-bodies.ts";
import { SharedSlots } from "../kernel/async/shared-slots.ts";
import { rateGate } from "../kernel/auth/gates.ts";
import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import { limitValues } from "../kernel/http/count-values.ts";
import { requestIdOf } from "../kernel/http/request.ts";
import { isId } from "../kernel/ids.ts";
import { withCheck } from "./health.ts";
import type { ReadWebhook } from "./platform.ts";
import { platforms } from "./platforms.ts";
import { receiveIncoming } from "./receive.ts";
import { chatPlatforms, webhookBytesMax, webhooksPerSecondMax } from "./schema.ts";
import { type ChatConnectionRow, findWebhookConnection, openChatCredentials, recordWebhookSeen } from "./store.ts";

/** The operations that the chat platforms call, authorized by their signature or secret (docs/decisions/chat.md). */
export function chatWebhookRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/chat/webhooks" }).post("/:platform/:connectionId", ({ request, params }) =>
    receive(ctx, request, params.platform, params.connectionId),
  );
}

/** Bodies of one connection's webhooks that come at once, each of at most `webhookBytesMax`; platforms send at most some dozens. */
const bodiesPerConnectionMax = 64;
const bodies = new StrangeBodies(bodiesPerConnectionMax);

/**
 * Verifies a request, stores what it says and responds at once; a job begins the
 * turn. Throws 401 for a request that is not verifiably the platform's: it stores
 * nothing, and does not reveal whether there is such a connection. Throws 429 for one
 * too many in a second; a request that is not the platform's uses up none of them.
 * The connection is looked up first: whoever invents one is refused before its body has come, and the requests of
 * each that there is share nothing with others. While the body comes, nothing is held but its bytes.
 * Nothing is read for a disabled connection: whatever the body, the response is 200.
 */
async function receive(ctx: Ctx, request: Request, label: string, connectionId: string): Promise<Response> {
  const name = chatPlatforms.find((known) => known === label);
  const known = name !== undefined && isId("chatConnection", connectionId);
  const connection = known ? await findWebhookConnection(ctx.sql, name, connectionId) : null;
  if (connection === null) {
    ctx.slots.refuse(request);
    throw new ApiError("unauthorized");
  }
  await ctx.slots.identify(request, { id: connection.id, form: "b" });
  ctx.slots.pause(request);
  const body = await bodies.read(connection.id, request, webhookBytesMax);
  await ctx.slots.resume(request);
  const platform = platforms[connection.platform];
  if (!platform.verify(openChatCredentials(ctx.sealer, connection), request.headers, body))
    throw new ApiError("unauthorized");
  await rateGate(ctx.rateLimiter, connection.id, webhooksPerSecondMax);
  if (!connection.enabled) return new Response(null, { status: 200 });
  const mediaType = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  const readWebhook = async () => {
    await limitValues([jsonOf(body, mediaType)]);
    return read(() => platform.read(receivingBotOf(connection), body, mediaType));
  };
  const { incoming, responseBody } = await oneAtATime(connection.id, readWebhook);
  if (connection.webhookSeenAt === null)
    await recordWebhookSeen(ctx.sql, connection, withCheck(connection.health, "webhook_url", "pass"));
  if (incoming !== null) {
    const received = await receiveIncoming(ctx.sql, connection, incoming, requestIdOf(request));
    ctx.log.debug({ connectionId, kind: incoming.kind, taken: received }, "a chat platform called");
  }
  return responseBody === null ? new Response(null, { status: 200 }) : Response.json(responseBody);
}

const readers = new SharedSlots(Number.POSITIVE_INFINITY, 1);

/**
 * Reads one webhook of a connection at a time, and lets other requests go on before the next: a
 * large one takes some 5 ms of the event loop, and 50 may come at once. The wait ends,
 * as nothing but reading is waited for.
 */
async function oneAtATime<T>(connectionId: string, work: () => Promise<T>): Promise<T> {
  const release = await readers.take(connectionId, null);
  try {
    return await work();
  } finally {
    setImmediate(release);
  }
}

/** Returns the JSON of a body: itself, or the field of a form that holds it. */
function jsonOf(body: Uint8Array, mediaType: string): Uint8Array {
  if (mediaType !== "application/x-www-form-urlencoded") return body;
  return Buffer.from(new URLSearchParams(new TextDecoder().decode(body)).get("payload") ?? "");
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
