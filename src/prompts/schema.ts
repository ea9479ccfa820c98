import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Change, Characters, Closed, listPartQuery, Metadata, Name, UserId } from "../kernel/http/request-fields.ts";
import type { IdOf } from "../kernel/ids.ts";

/** Prompts a tenant may have at once. */
export const promptsPerTenantMax = 100;
/** A template has at most this many characters. */
const templateCharactersMax = 10_240;

const Template = example(Characters({ min: 1, max: templateCharactersMax }), "Greet {{name}} in one sentence.");

export const PromptCreate = Component("PromptCreate", {
  name: example(Name, "Greeting"),
  template: Template,
  userId: Type.Optional(UserId),
  metadata: Type.Optional(Metadata),
});

export const PromptUpdate = Change("PromptUpdate", {
  name: example(Name, "Greeting"),
  template: Template,
  metadata: Metadata,
});

export const PromptQuery = Closed({ ...listPartQuery, userId: Type.Optional(UserId) });

/** A prompt in a response. */
export interface Prompt {
  readonly id: IdOf<"prompt">;
  readonly tenantId: string;
  readonly name: string;
  readonly template: string;
  /** Derived from the template, in order of first appearance. */
  readonly variables: readonly string[];
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
  readonly updatedAt: string;
}
