import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { Closed, Metadata, Nullable } from "./request-fields.ts";

/** Words that the slices describe their answers with, for the OpenAPI document. */

/** A moment as answers show it: RFC 3339, UTC, milliseconds. */
export const Moment = Type.String({ format: "date-time" });
/** A UTC day. */
export const Day = Type.String({ format: "date" });
export const Text = Type.String();
export const TextOrNull = Nullable(Text);
export const MomentOrNull = Nullable(Moment);

/** When something was made and last changed. */
export const times = { createdAt: Moment, updatedAt: Moment };
/** Whose it is, and the data kept with it. */
export const attribution = { userId: Text, metadata: Metadata };

/** A page of a list. */
export function pageOf<T extends TSchema>(of: T) {
  return Closed({ data: Type.Array(of), nextCursor: TextOrNull });
}

/** A list that is bounded and not paged, under its name. */
export function listOf<T extends TSchema>(name: string, of: T) {
  return Closed({ [name]: Type.Array(of) } as TProperties);
}

/** What went wrong, inside an answer that is a success. */
export const Failure = Closed({ code: Text, message: Text });
