import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { actorTypes } from "../auth/actor.ts";
import { Component, example } from "./component.ts";
import { Metadata, Nullable, OneOf } from "./request-fields.ts";

/** Words that the slices describe their responses with, for the OpenAPI document. */

/** A moment as responses show it: RFC 3339, UTC, milliseconds. */
export const Moment = Type.String({ format: "date-time" });
/** A UTC day. */
export const Day = Type.String({ format: "date" });
export const Text = Type.String();
export const TextOrNull = Nullable(Text);
export const MomentOrNull = Nullable(Moment);

/** When something was made and last changed. */
export const times = { createdAt: Moment, updatedAt: Moment };
/** Whose it is, and the data kept with it. */
export const attribution = { userId: example(Text, "user-42"), metadata: Metadata };

/** Who did something. */
export const ActorResponse = Component("Actor", {
  type: example(OneOf(...actorTypes), "api_key"),
  id: example(TextOrNull, "ak_0123456789abcdefghijklmn"),
});

/** Where a page's next one begins; null on the last page. */
export const NextCursor = example(TextOrNull, null);

/** A page of a list, and its component's name. */
export function pageOf<T extends TSchema>(component: string, of: T) {
  return Component(component, { data: Type.Array(of), nextCursor: NextCursor });
}

/** A list that is paged for who asks for a page, under its name, and its component's name. */
export function listPartOf<T extends TSchema>(component: string, name: string, of: T) {
  const fields = { [name]: Type.Array(of), nextCursor: Type.Optional(NextCursor) } as TProperties;
  return Component(component, fields);
}

/** A list that is bounded and not paged, under its name, and its component's name. */
export function listOf<T extends TSchema>(component: string, name: string, of: T) {
  return Component(component, { [name]: Type.Array(of) } as TProperties);
}

/** What went wrong, inside a response that is a success. */
export const Failure = Component("Failure", {
  code: example(Text, "provider_error"),
  message: example(Text, "The model provider failed."),
});

/** The parts of a usage's tokens, 0 where a vendor said nothing of them. */
export const tokenParts = {
  cachedInputTokens: example(
    Type.Integer({ description: "Input tokens that the model's vendor had in its cache." }),
    64,
  ),
  cacheWriteTokens: example(Type.Integer({ description: "Input tokens that it put into its cache." }), 0),
  reasoningTokens: example(Type.Integer({ description: "Output tokens that the model thought and did not say." }), 16),
};

/** What usage cost. */
export const costFields = {
  costUsd: example(
    Nullable(Type.String({ description: "US dollars, as decimal text. Null where no price is known." })),
    "0.00123",
  ),
  costIsComplete: example(Type.Boolean({ description: "Whether a price is known of all that was used." }), true),
};
