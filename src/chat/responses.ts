import { Type } from "@sinclair/typebox";
import { Closed, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { listOf, MomentOrNull, pageOf, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { chatPlatforms } from "./schema.ts";

/** What operations on chat connections answer (document 2, "Chat connection" and "Chat delivery"), for the OpenAPI document. */
const Configuration = Closed({
  platform: OneOf(...chatPlatforms),
  channelIds: Type.Optional(Type.Array(Text)),
  chatIds: Type.Optional(Type.Array(Text)),
  businessMode: Type.Optional(Type.Boolean()),
});
const Health = Closed({
  checkedAt: MomentOrNull,
  tokenValid: Type.Boolean(),
  identityVerified: Type.Boolean(),
  checks: Type.Array(
    Closed({
      code: OneOf("bot_identity", "channel_membership", "webhook_url"),
      status: OneOf("pass", "fail", "unknown"),
      subject: Type.Optional(Text),
    }),
  ),
});
export const ChatConnectionResponse = Closed({
  id: Id("chatConnection"),
  tenantId: Id("tenant"),
  agentId: Id("agent"),
  name: Text,
  platform: OneOf(...chatPlatforms),
  enabled: Type.Boolean(),
  configuration: Configuration,
  webhookUrl: Text,
  identity: Closed({ botId: TextOrNull, botUserId: TextOrNull, teamId: TextOrNull, appId: TextOrNull }),
  health: Health,
  credentialFragment: Text,
  credentialVersion: Type.Integer(),
  ...times,
});
export const ChatConnectionListResponse = listOf("chatConnections", ChatConnectionResponse);

const state = {
  id: Id("chatDelivery"),
  kind: OneOf("reply", "approval_card"),
  status: OneOf("pending", "confirmed", "failed", "ambiguous"),
  attempt: Type.Integer(),
  sessionId: Nullable(Id("session")),
  threadId: Text,
};
const delivery = {
  ...state,
  credentialVersion: Type.Integer(),
  representation: OneOf("native", "text"),
  diagnostic: TextOrNull,
  receipts: Type.Array(Closed({ attempt: Type.Integer(), messageId: Text })),
  messageId: TextOrNull,
  approvalId: Nullable(Id("approval")),
  ...times,
};
export const ChatDeliveryListResponse = pageOf(Closed(delivery));
export const ChatAttentionListResponse = pageOf(
  Closed({
    ...delivery,
    connectionId: Id("chatConnection"),
    agentId: Id("agent"),
    platform: OneOf(...chatPlatforms),
  }),
);
export const ChatDeliveryRepairResponse = Closed({ ...state, connectionId: Id("chatConnection") });
