import { type Static, Type } from "@sinclair/typebox";
import { Component, example, shownAs, withHints } from "../kernel/http/component.ts";
import { MomentText } from "../kernel/http/date-time.ts";
import {
  BoundedJson,
  Change,
  Characters,
  Closed,
  Cursor,
  Flag,
  Metadata,
  OneOf,
  pageQuery,
  SmallJson,
  UserId,
} from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";
import { MessagePart, UserMessagePart } from "../messages/schema.ts";
import { ResponseFormatField } from "./response-format.ts";
import { turnKinds } from "./state/turn.ts";
import { shownStatuses } from "./state/turn-view.ts";

/** The id of a UI message, which its client may choose. */
export const MessageId = Characters({ min: 1, max: 256 });

/** A user's UI message. Further fields of a part are stored as sent; `checkParts` checks the parts. */
export const UserMessage = Component("UserMessage", {
  id: example(MessageId, "message-1"),
  role: Type.Literal("user", { errorMessage: 'must be "user"' }),
  parts: Type.Array(shownAs(Type.Unknown(), UserMessagePart), { minItems: 1 }),
  metadata: Type.Optional(SmallJson),
  // As the list of messages shows one that the transcript does not hold yet: a page sends it back. It is not stored.
  pending: Type.Optional(Type.Literal(true)),
});

/**
 * A user's UI message, or the assistant's that waits, with decisions and results in its parts
 * (docs/decisions/assistant-messages.md).
 */
const SessionMessage = Component("SessionMessage", {
  id: example(MessageId, "message-1"),
  role: Type.Union([Type.Literal("user"), Type.Literal("assistant")]),
  // An assistant's without parts settles nothing, like one with other parts; `checkTurnBody` refuses a user's.
  parts: Type.Array(shownAs(Type.Unknown(), MessagePart)),
  metadata: Type.Optional(SmallJson),
  pending: Type.Optional(Type.Literal(true)),
});

const question = {
  id: "message-1",
  role: "user",
  parts: [{ type: "text", text: "What time is it in Lisbon?" }],
};
const turnFields = {
  message: Type.Optional(example(UserMessage, question)),
  promptId: Type.Optional(Id("prompt")),
  variables: Type.Optional(Type.Record(Type.String(), Type.String())),
  trigger: Type.Optional(Type.Union([Type.Literal("submit-message"), Type.Literal("regenerate-message")])),
  messageId: Type.Optional(MessageId),
  stream: Type.Optional(Type.Boolean()),
  userId: Type.Optional(UserId),
  metadata: Type.Optional(Metadata),
  responseFormat: Type.Optional(ResponseFormatField),
};

/** What `useChat` sends by itself. */
const wholeTranscript = {
  messages:
    "send the newest one as `message`, because the session has those before it; POST /v1/agents/:agentId/generate takes `messages`",
};

/** The number of a version that an agent can be pinned to. */
export const VersionNumber = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });

/** The body that creates a session with its first turn: `POST /v1/agents/:agentId/sessions`. */
export const TurnCreate = withHints(
  Component("TurnCreate", { ...turnFields, version: Type.Optional(VersionNumber) }),
  wholeTranscript,
);
/** The body that resumes a session; a version is fixed at creation. */
export const TurnResume = withHints(
  Component("TurnResume", {
    ...turnFields,
    message: Type.Optional(example(SessionMessage, question)),
    onBusy: Type.Optional(Type.Union([Type.Literal("reject"), Type.Literal("enqueue"), Type.Literal("interrupt")])),
  }),
  wholeTranscript,
);
/** The fields both bodies have, and what a session that is busy does with the turn. */
export type TurnBody = Static<typeof TurnResume>;

/** The body that runs a turn again; it may be left out. */
export const TurnRetry = Component("TurnRetry", { stream: Type.Optional(Type.Boolean()) });

/** The body of a cancellation; it may be left out. */
export const TurnCancel = Component("TurnCancel", {
  keep: Type.Optional(Type.Union([Type.Literal("nothing"), Type.Literal("partial")])),
  queued: Type.Optional(Type.Boolean()),
});

/** The body of a stateless generation: `POST /v1/agents/:agentId/generate`. */
export const Generate = Component("Generate", {
  messages: Type.Array(
    Component("GenerateMessage", {
      id: Type.Optional(MessageId),
      role: Type.Union([Type.Literal("user"), Type.Literal("assistant")]),
      parts: Type.Array(shownAs(Type.Unknown(), MessagePart), { minItems: 1 }),
      metadata: Type.Optional(SmallJson),
    }),
    { minItems: 1, maxItems: 2_000 },
  ),
  stream: Type.Optional(Type.Boolean()),
  version: Type.Optional(VersionNumber),
  userId: Type.Optional(UserId),
  metadata: Type.Optional(Metadata),
  responseFormat: Type.Optional(ResponseFormatField),
});

/** The body that changes a session. */
export const SessionChange = Component("SessionChange", { metadata: Metadata });

/** The reason of a decision has at most this many characters (docs/configuration.md, "Limits"). */
export const approvalReasonCharactersMax = 1_000;
/** The result of a client tool has at most this many bytes as JSON. */
export const clientResultBytesMax = 256 * 1024;
/** The error of a client tool has at most this many characters. */
export const clientErrorCharactersMax = 4_096;

/** What a client tool answered: one of the two. */
export const ClientResultBody = Component("ClientToolResult", {
  output: Type.Optional(example(BoundedJson(clientResultBytesMax), { latitude: 38.7, longitude: -9.1 })),
  errorText: Type.Optional(Characters({ max: clientErrorCharactersMax })),
});
export type ClientResult = Static<typeof ClientResultBody>;

export const sessionPath = { agentId: Id("agent"), sessionId: Id("session") };

export const SessionListQuery = Closed({ ...pageQuery, userId: Type.Optional(Type.String()) });
export const LatestQuery = Closed({
  ...pageQuery,
  userId: Type.Optional(Type.String()),
  byAgent: Type.Optional(Flag),
});
const turnFilter = { agentId: Id("agent"), sessionId: Id("session"), userId: UserId };
export const TurnListFields = Closed({
  ...Type.Partial(Type.Object(turnFilter)).properties,
  status: Type.Optional(OneOf(...shownStatuses)),
  kind: Type.Optional(OneOf(...turnKinds)),
  error: Type.Optional(
    example(
      Type.String({ pattern: "^[A-Za-z_]{1,64}$", errorMessage: "must be the code of an error" }),
      "provider_error",
    ),
  ),
  sort: Type.Optional(OneOf("newest", "longest")),
  from: Type.Optional(MomentText),
  to: Type.Optional(MomentText),
  ...pageQuery,
});
/** The body of `POST /v1/turns/cancel`: which unfinished turns, those that match all of these. */
export const TurnsCancel = Change("TurnsCancel", {
  ...turnFilter,
  status: OneOf("queued", "running", "waiting"),
});
export const MessagesQuery = Closed({ ...pageQuery, after: Type.Optional(Cursor) });
/** The same of a session, whose page may end with what the transcript does not hold yet. */
export const OpenMessagesQuery = Closed({ ...MessagesQuery.properties, pending: Type.Optional(Flag) });
