import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Closed, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { listPartOf, MomentOrNull, pageOf, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { chatPlatforms } from "./schema.ts";

/** The responses of the operations on chat connections and their deliveries. */
const Configuration = Closed({
  platform: OneOf(...chatPlatforms),
  channelIds: Type.Optional(example(Type.Array(Text), ["C0123456789"])),
  chatIds: Type.Optional(Type.Array(Text)),
  businessMode: Type.Optional(Type.Boolean()),
  approverIds: Type.Optional(Type.Array(Text)),
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
const Identity = example(Closed({ botId: TextOrNull, botUserId: TextOrNull, teamId: TextOrNull, appId: TextOrNull }), {
  botId: "B0123456789",
  botUserId: "U0123456789",
  teamId: "T0123456789",
  appId: "A0123456789",
});
export const ChatConnectionResponse = Component("ChatConnection", {
  id: Id("chatConnection"),
  tenantId: Id("tenant"),
  agentId: Id("agent"),
  name: example(Text, "Support in Slack"),
  platform: OneOf(...chatPlatforms),
  enabled: Type.Boolean(),
  configuration: Configuration,
  webhookUrl: example(Text, "https://parley.example.org/v1/chat/webhooks/chat_a/cc_0mk7q2v5c8d1f4h6j9n3p0rt"),
  identity: Identity,
  health: Health,
  credentialFragment: example(Text, "3f9a"),
  credentialVersion: Type.Integer(),
  ...times,
});
export const ChatConnectionListResponse = listPartOf("ChatConnectionList", "chatConnections", ChatConnectionResponse);

const state = {
  id: Id("chatDelivery"),
  kind: OneOf("reply", "approval_card"),
  status: example(OneOf("pending", "confirmed", "failed", "ambiguous"), "ambiguous"),
  attempt: Type.Integer(),
  sessionId: Nullable(Id("session")),
  threadId: example(Text, "C0123456789:1767225600.000100"),
};
const delivery = {
  ...state,
  credentialVersion: Type.Integer(),
  representation: OneOf("native", "text"),
  diagnostic: example(TextOrNull, null),
  receipts: example(Type.Array(Closed({ attempt: Type.Integer(), messageId: Text })), []),
  messageId: example(TextOrNull, null),
  approvalId: example(Nullable(Id("approval")), null),
  ...times,
};
export const ChatDeliveryListResponse = pageOf("ChatDeliveryPage", Component("ChatDelivery", delivery));
export const ChatAttentionListResponse = pageOf(
  "UnresolvedChatDeliveryPage",
  Component("UnresolvedChatDelivery", {
    ...delivery,
    connectionId: Id("chatConnection"),
    agentId: Id("agent"),
    platform: OneOf(...chatPlatforms),
  }),
);
export const ChatDeliveryRepairResponse = Component("ChatDeliveryRepaired", {
  ...state,
  connectionId: Id("chatConnection"),
});
