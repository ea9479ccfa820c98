import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { settingFields } from "../agents/model-settings.ts";
import { Component, component, example, shownAs } from "../kernel/http/component.ts";
import { Characters, Closed, Metadata, Nullable, UserId } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";

/** `instructions` has at most this many characters. */
const instructionsCharactersMax = 100_000;
/** A request brings at most this many tools. */
const toolsMax = 50;

/** A field that may be left out, or null, which means the same. */
function Maybe<T extends TSchema>(schema: T) {
  return Type.Optional(Nullable(schema));
}

/**
 * A field of the protocol that changes nothing here: only the value that it has anyway is taken. What
 * would change the agent is refused by name.
 */
function Fixed(...values: readonly (string | number | boolean)[]) {
  const said = values.map((value) => JSON.stringify(value)).join(" or ");
  const errorMessage =
    values.length === 0 ? "is not supported: leave it out" : `is not supported: leave it out, or send ${said}`;
  const options = [Type.Null(), ...values.map((value) => Type.Literal(value))];
  return Type.Optional(Type.Union(options, { errorMessage }));
}

/** What is said of a tool that is no function. */
export const otherTools = 'must be "function": other tools are the agent\'s, and not supported here';

/** A tool that a request brings. */
export const FunctionTool = Component("ResponseFunctionTool", {
  type: Type.Literal("function", { errorMessage: otherTools }),
  name: example(Type.String(), "current_location"),
  description: Maybe(Type.String()),
  parameters: Maybe(Type.Object({}, { additionalProperties: true })),
  strict: Maybe(Type.Boolean()),
  allowed_callers: Fixed(),
  async: Fixed(false),
  defer_loading: Fixed(false),
  output_schema: Fixed(),
});

const ToolChoiceField = Type.Union(
  [
    Type.Literal("auto"),
    Type.Literal("none"),
    Type.Literal("required"),
    Closed({ type: Type.Literal("function"), name: Type.String() }),
  ],
  { errorMessage: 'must be "auto", "none", "required", or a function by its name: other choices are not supported' },
);

const TextFormat = Type.Union(
  [
    Closed({ type: Type.Literal("text") }),
    Closed({
      type: Type.Literal("json_schema"),
      name: Maybe(Type.String()),
      schema: Type.Object({}, { additionalProperties: true }),
      description: Maybe(Type.String()),
      strict: Maybe(Type.Boolean()),
    }),
  ],
  { errorMessage: 'must be of type "text", or "json_schema" with a schema: other formats are not supported' },
);

/** An item of the input, for the OpenAPI document; `input.ts` checks them. */
const InputItemShown = component(
  "ResponseInputItem",
  example(Type.Object({ type: Type.Optional(Type.String()) }, { additionalProperties: true }), {
    type: "message",
    role: "user",
    content: "What time is it in Lisbon?",
  }),
);

/** How much the model is to think, as the protocol names it; whether the agent's model takes it is checked by `checkSettings`. */
const Effort = example(Characters({ min: 1, max: 64 }), "low");

/** The body of `POST /v1/responses`. */
export const ResponseCreate = Component("ResponseCreate", {
  model: Id("agent"),
  input: example(
    Type.Union([Type.String(), Type.Array(shownAs(Type.Unknown(), InputItemShown))], {
      errorMessage: "must be a text, or a list of items",
    }),
    "What time is it in Lisbon?",
  ),
  instructions: Maybe(Characters({ max: instructionsCharactersMax })),
  previous_response_id: Maybe(Id("response")),
  stream: Maybe(Type.Boolean()),
  store: Maybe(Type.Boolean()),
  background: Maybe(Type.Boolean()),
  // `readTools` checks them: of another type of tool its type is what is wrong, and none of its fields.
  tools: Maybe(Type.Array(shownAs(Type.Unknown(), FunctionTool), { maxItems: toolsMax })),
  tool_choice: Maybe(ToolChoiceField),
  text: Maybe(Closed({ format: Maybe(TextFormat), verbosity: Fixed("medium") })),
  metadata: Maybe(Metadata),
  user: Maybe(UserId),
  // What OpenAI's clients send, and what cannot change an answer here, whatever it says: it is not looked at.
  include: Maybe(Type.Array(Type.String())),
  stream_options: Maybe(Closed({ include_obfuscation: Maybe(Type.Boolean()) })),
  safety_identifier: Maybe(Type.String()),
  prompt_cache_key: Maybe(Type.String()),
  prompt_cache_options: Maybe(Type.Object({}, { additionalProperties: true })),
  prompt_cache_retention: Maybe(Type.String()),
  client_metadata: Maybe(Type.Object({}, { additionalProperties: true })),
  parallel_tool_calls: Fixed(true),
  truncation: Fixed("auto", "disabled"),
  service_tier: Fixed("auto", "default"),
  temperature: Maybe(settingFields.temperature),
  top_p: Maybe(settingFields.topP),
  max_output_tokens: Maybe(settingFields.maxOutputTokens),
  presence_penalty: Fixed(0),
  frequency_penalty: Fixed(0),
  top_logprobs: Fixed(0),
  max_tool_calls: Fixed(),
  reasoning: Maybe(Closed({ effort: Maybe(Effort), summary: Fixed("auto") })),
  conversation: Fixed(),
  prompt: Fixed(),
  access_programs: Fixed(),
  context_management: Fixed(),
  image: Fixed(),
  moderation: Fixed(),
});
export type CreateBody = Static<typeof ResponseCreate>;
