/**
 * What vendors refuse of a request on the wire, as their published error messages say it. Written from those and not
 * from `src/model/sending/`: it looks at the body that arrives, not at how it was made.
 */

type Json = Readonly<Record<string, unknown>>;
/** Returns why a vendor refuses a body; null where it takes it. */
export type Judge = (body: Json) => string | null;

const blank = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}]*$/u;

class Refused extends Error {}
function refuse(words: string): never {
  throw new Refused(words);
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

function demandText(value: unknown, place: string): void {
  if (typeof value !== "string" || blank.test(value))
    refuse(`${place}: text content blocks must contain non-whitespace text`);
}

function demandObject(text: unknown, place: string): void {
  const value: unknown = typeof text === "string" ? JSON.parse(text) : text;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    refuse(`${place}: Input should be a valid dictionary`);
}

function demandMatch(value: unknown, pattern: RegExp, place: string): void {
  if (typeof value !== "string" || !pattern.test(value))
    refuse(`${place}: string does not match pattern ${pattern.source}`);
}

interface ChatRules {
  readonly callId: RegExp;
  readonly toolName: RegExp;
  /** `alternate`: no two of one role in a row, and no user after a tool. */
  readonly order?: "alternate";
  readonly reasoning: "refused" | "taken" | "demanded";
  readonly schemaTypes?: boolean;
  readonly extra?: boolean;
}

const name64 = /^[a-zA-Z0-9_-]{1,64}$/;

/** Chat Completions: the strict ones of OpenAI, Mistral, Moonshot, DeepSeek, Groq. */
function chat(rules: ChatRules): Judge {
  return judged((body) => {
    const messages = list(body.messages);
    let open: Json[] = [];
    const ids = new Set<string>();
    let before = "";
    for (const [index, message] of messages.entries()) {
      const place = `messages[${index}]`;
      const { role } = message;
      if (open.length > 0 && role !== "tool")
        refuse(
          `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id' (${place})`,
        );
      if (rules.order === "alternate" && before === role && role !== "tool")
        refuse(`Conversation roles must alternate (${place})`);
      if (rules.order === "alternate" && before === "tool" && role === "user")
        refuse("Unexpected role 'user' after role 'tool'");
      if (role === "system" || role === "developer") demandContent(message.content, place);
      else if (role === "user") demandContent(message.content, place);
      else if (role === "assistant") {
        if (before === "" || before === "system") refuse("first message must be from the user");
        const calls = list(message.tool_calls);
        if (calls.length === 0) demandContent(message.content, `${place}: must have either content or tool_calls`);
        else if (message.content !== null && message.content !== undefined) demandContent(message.content, place);
        thoughts(message, rules, place);
        open = calls.map((call) => chatCall(call, rules, ids, place));
      } else if (role === "tool") {
        const at = open.findIndex(({ id }) => id === message.tool_call_id);
        if (at === -1)
          refuse(`${place}: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'`);
        open = open.filter((_, call) => call !== at);
        demandContent(message.content, place);
      } else refuse(`${place}: unknown role`);
      before = String(role);
    }
    if (open.length > 0) refuse("tool_calls without tool messages");
    if (before !== "user" && before !== "tool") refuse("Expected last role User or Tool");
    chatTools(body, rules);
  });
}

function thoughts(message: Json, { reasoning }: ChatRules, place: string): void {
  const has = "reasoning_content" in message || "reasoning" in message || "reasoning_details" in message;
  if (has && reasoning === "refused") refuse(`${place}: property 'reasoning_content' is unsupported`);
  if (reasoning !== "demanded") return;
  if (typeof message.reasoning_content !== "string" || message.reasoning_content === "")
    refuse("The reasoning_content in the thinking mode must be passed back to the API.");
}

function chatCall(call: Json, { callId, toolName, extra }: ChatRules, ids: Set<string>, place: string): Json {
  const { id, type, function: called } = call as { id: string; type: string; function: Json };
  if (type !== "function") refuse(`${place}: unknown type`);
  if (extra !== true && Object.keys(call).some((key) => !["id", "type", "function", "index"].includes(key)))
    refuse(`${place}: Extra inputs are not permitted`);
  demandMatch(id, callId, `${place}.tool_calls.id`);
  if (ids.has(id)) refuse(`${place}: duplicate id`);
  ids.add(id);
  demandMatch(called.name, toolName, `${place}.tool_calls.function.name`);
  demandObject(called.arguments, `${place}.tool_calls.function.arguments`);
  return call;
}

function demandContent(content: unknown, place: string): void {
  if (typeof content === "string") {
    demandText(content, place);
    return;
  }
  const parts = list(content);
  if (parts.length === 0) refuse(`${place}: content must not be empty`);
  for (const part of parts)
    if (part.type === "text" || part.type === "input_text" || part.type === "output_text") demandText(part.text, place);
}

function chatTools(body: Json, rules: ChatRules): void {
  if (body.tools === undefined) return;
  const tools = list(body.tools).map(({ function: one }) => one as Json);
  checkTools(tools, rules.toolName, { max: 128, types: rules.schemaTypes === true, parameters: "parameters" });
}

interface ToolRules {
  readonly max: number | null;
  readonly types?: boolean;
  readonly google?: boolean;
  readonly field?: RegExp;
  readonly parameters: string;
}

function checkTools(tools: readonly Json[], toolName: RegExp, rules: ToolRules): void {
  if (tools.length === 0) refuse("tools: [] is too short");
  if (rules.max !== null && tools.length > rules.max)
    refuse(`Invalid 'tools': array too long. Expected maximum length ${rules.max}`);
  const names = new Set<unknown>();
  for (const tool of tools) {
    demandMatch(tool.name, toolName, "tools.name");
    if (names.has(tool.name)) refuse("Tool names must be unique.");
    names.add(tool.name);
    demandText(tool.description, "tools.description");
    const schema = tool[rules.parameters] as Json;
    if (schema?.type !== "object" && schema?.type !== "OBJECT")
      refuse("schema must be a JSON Schema of 'type: \"object\"'");
    for (const keyword of ["anyOf", "oneOf", "allOf", "not", "enum", "$ref"])
      if (keyword in schema) refuse(`schema must have type 'object' and not have '${keyword}' at the top level`);
    for (const field of Object.keys((schema.properties ?? {}) as Json))
      if (rules.field !== undefined) demandMatch(field, rules.field, "input_schema.properties");
    checkSchema(schema, schema, rules, 0);
  }
}

const types = ["string", "number", "integer", "boolean", "object", "array", "null"];

/** A schema as of 2020-12, with what OpenAI, Google and Moonshot ask beyond that. */
function checkSchema(schema: unknown, root: Json, rules: ToolRules, depth: number): void {
  if (typeof schema === "boolean") return;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    refuse("is not of type 'object', 'boolean'");
  if (depth > 100) refuse("too deep");
  const { type, properties, items, required, enum: values, anyOf, $ref, format } = schema as Json;
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === null && !["default", "const"].includes(keyword)) refuse(`None is not a value of ${keyword}`);
    if (["anyOf", "oneOf", "allOf", "prefixItems"].includes(keyword)) {
      if (!Array.isArray(value) || value.length === 0) refuse(`${keyword} is too short`);
      for (const one of value) checkSchema(one, root, rules, depth + 1);
    }
    if (["not", "if", "then", "else", "contains", "items", "additionalProperties"].includes(keyword))
      checkSchema(value, root, rules, depth + 1);
    if (
      ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"].includes(keyword) &&
      typeof value !== "number"
    )
      refuse(`${keyword} is not of type 'number'`);
    if (["title", "description", "format", "pattern"].includes(keyword) && typeof value !== "string")
      refuse(`${keyword} is not of type 'string'`);
  }
  const named = (Array.isArray(type) ? type : [type]) as unknown[];
  if (
    type !== undefined &&
    (named.length === 0 || named.some((one) => !types.includes(one as string)) || new Set(named).size < named.length)
  )
    refuse(`${JSON.stringify(type)} is not valid under any of the given schemas`);
  if (named.includes("object") && (typeof properties !== "object" || properties === null))
    refuse("object schema missing properties");
  if (named.includes("array") && items === undefined) refuse("array schema missing items");
  if (required !== undefined) {
    if (!Array.isArray(required) || new Set(required).size < required.length)
      refuse("required has non-unique elements");
    for (const name of required as string[])
      if (!Object.hasOwn((properties ?? {}) as Json, name)) refuse(`required[${name}]: property is not defined`);
  }
  if (values !== undefined && (!Array.isArray(values) || values.length === 0)) refuse("enum: cannot be empty");
  for (const one of Object.values((properties ?? {}) as Json)) checkSchema(one, root, rules, depth + 1);
  if (typeof $ref === "string" && $ref !== "#") {
    const name = /^#\/\$defs\/(.+)$/.exec($ref)?.[1]?.replaceAll("~1", "/").replaceAll("~0", "~");
    if (name === undefined || !Object.hasOwn((root.$defs ?? {}) as Json, name))
      refuse(`Reference ${$ref} leads nowhere`);
  }
  if (depth === 0) for (const one of Object.values((root.$defs ?? {}) as Json)) checkSchema(one, root, rules, 1);
  if (rules.types === true && anyOf !== undefined && type !== undefined)
    refuse("when using anyOf, type should be defined in anyOf items instead of the parent schema");
  if (rules.google !== true) return;
  if (Array.isArray(values) && values.includes("")) refuse("enum[0]: cannot be empty");
  if (
    typeof format === "string" &&
    !["enum", "date-time", "date", "time", "int32", "int64", "float", "double"].includes(format)
  )
    refuse("only 'enum' and 'date-time' are supported for STRING type");
  if ($ref !== undefined && Object.keys(schema).length > 1) refuse("$ref: no other fields may be set");
}

const anthropic: Judge = judged((body) => {
  for (const block of list(body.system)) demandText(block.text, "system");
  const messages = list(body.messages);
  if (messages[0]?.role !== "user") refuse('messages: first message must use the "user" role');
  let open: string[] = [];
  const ids = new Set<string>();
  let calls = false;
  const asked = messages.findLastIndex(
    ({ role, content }) => role === "user" && list(content).some(({ type }) => type !== "tool_result"),
  );
  for (const [index, { role, content }] of messages.entries()) {
    const blocks = list(content);
    if (blocks.length === 0) refuse(`messages.${index}: all messages must have non-empty content`);
    const results = blocks.filter(({ type }) => type === "tool_result").map(({ tool_use_id: id }) => String(id));
    if (results.some((id) => !open.includes(id))) refuse("unexpected `tool_use_id` found in `tool_result` blocks");
    if (open.some((id) => !results.includes(id)) || results.length !== open.length)
      refuse("`tool_use` ids were found without `tool_result` blocks immediately after");
    open = [];
    for (const block of blocks) {
      calls ||= block.type === "tool_use";
      // Of the answer that is under way, Claude gives thoughts without a word, and wants them back.
      if (block.type !== "thinking" || index < asked) anthropicBlock(block, role, `messages.${index}.content`);
      else demandText(block.signature, `messages.${index}.content.signature`);
      if (block.type !== "tool_use") continue;
      if (ids.has(String(block.id))) refuse("`tool_use` ids must be unique");
      ids.add(String(block.id));
      open.push(String(block.id));
    }
    if (role === "assistant" && /thinking/.test(String(blocks.at(-1)?.type)))
      refuse("The final block in an assistant message cannot be `thinking`.");
  }
  if (messages.at(-1)?.role !== "user") refuse("The conversation must end with a user message.");
  if (calls && body.tools === undefined)
    refuse("Requests which include `tool_use` or `tool_result` blocks must define tools");
  if (body.tools !== undefined)
    checkTools(list(body.tools), name64, { max: null, parameters: "input_schema", field: /^[a-zA-Z0-9_.-]{1,64}$/ });
});

function anthropicBlock(block: Json, role: unknown, place: string): void {
  switch (block.type) {
    case "text":
      demandText(block.text, place);
      break;
    case "tool_use":
      if (role !== "assistant") refuse(`${place}: tool_use in a user's message`);
      demandMatch(block.id, name64, `${place}.id`);
      demandMatch(block.name, name64, `${place}.name`);
      demandObject(block.input, `${place}.input`);
      break;
    case "tool_result":
      demandContent(block.content, place);
      break;
    case "thinking":
      demandText(block.thinking, `${place}: each thinking block must contain thinking`);
      demandText(block.signature, `${place}.signature`);
      break;
    case "redacted_thinking":
      demandText(block.data, `${place}.data`);
      break;
    case "image":
      break;
    default:
      refuse(`${place}: unexpected ${String(block.type)}`);
  }
}

const google: Judge = judged((body) => {
  for (const part of list((body.systemInstruction as Json)?.parts)) demandText(part.text, "system_instruction");
  const contents = list(body.contents);
  if (contents[0]?.role !== "user") refuse("contents must begin with a user turn");
  let open: unknown[] = [];
  let before: unknown;
  for (const { role, parts } of contents) {
    if (list(parts).length === 0) refuse("contents.parts must not be empty.");
    if (role === before) refuse("Please ensure that multiturn requests alternate between user and model.");
    before = role;
    const responses = list(parts).flatMap(({ functionResponse: one }) => (one === undefined ? [] : [one as Json]));
    if (open.length !== responses.length)
      refuse("the number of function response parts is equal to the number of function call parts");
    for (const { id, name, response } of responses) {
      if (!open.includes(`${String(id)} ${String(name)}`)) refuse("a response without its call");
      demandObject(response, "function_response.response");
    }
    open = [];
    for (const part of list(parts)) {
      if ("text" in part) demandText(part.text, "Unable to submit request because it has an empty text parameter");
      const call = part.functionCall as Json | undefined;
      if (call === undefined) continue;
      demandMatch(call.name, /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/, "function_call.name");
      demandObject(call.args, "function_call.args");
      if (open.includes(`${String(call.id)} ${String(call.name)}`)) refuse("duplicate call");
      open.push(`${String(call.id)} ${String(call.name)}`);
    }
  }
  if (before !== "user") refuse("contents must end with a user turn");
  const tools = list(body.tools).flatMap(({ functionDeclarations: all }) => list(all));
  if (body.tools !== undefined)
    checkTools(tools, /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/, {
      max: 128,
      google: true,
      types: true,
      parameters: "parametersJsonSchema",
    });
});

const responses: Judge = judged((body) => {
  const open = new Set<unknown>();
  const ids = new Set<unknown>();
  const input = list(body.input);
  for (const [index, item] of input.entries()) {
    const { type, role, content, id } = item;
    if (role !== undefined) demandContent(content, `input[${index}].content`);
    else if (type === "function_call") {
      demandMatch(item.call_id, name64, `input[${index}].call_id`);
      demandMatch(item.name, name64, `input[${index}].name`);
      demandObject(item.arguments, `input[${index}].arguments`);
      if (ids.has(item.call_id)) refuse("Duplicate item found");
      ids.add(item.call_id);
      open.add(item.call_id);
    } else if (type === "function_call_output") {
      if (!open.delete(item.call_id)) refuse("No tool call found for function call output with call_id");
      demandContent(item.output, `input[${index}].output`);
    } else if (type === "item_reference") {
      if (!/^(rs|msg|fc)_/.test(String(id))) refuse(`Item with id '${String(id)}' not found.`);
      const next = input[index + 1];
      if (
        /^rs_/.test(String(id)) &&
        (next === undefined || next.role === "user" || next.type === "function_call_output")
      )
        refuse(`Item '${String(id)}' of type 'reasoning' was provided without its required following item.`);
    } else if (type !== "reasoning") refuse(`input[${index}]: unexpected ${String(type)}`);
  }
  if (open.size > 0) refuse("No tool output found for function call");
  if (input.length === 0) refuse("input must not be empty");
  if (body.tools !== undefined) checkTools(list(body.tools), name64, { max: 128, parameters: "parameters" });
});

function judged(check: (body: Json) => void): Judge {
  return (body) => {
    try {
      check(body);
      return null;
    } catch (error) {
      if (error instanceof Refused || error instanceof SyntaxError) return error.message;
      throw error;
    }
  };
}

/** By name; the ones that a `custom` provider may stand for have to be pleased all at once. */
export const judges = {
  "OpenAI's Chat Completions": chat({ callId: /^[\s\S]{1,40}$/, toolName: name64, reasoning: "refused" }),
  "OpenAI's Responses": responses,
  Anthropic: anthropic,
  Google: google,
  Mistral: chat({ callId: /^[a-zA-Z0-9]{9}$/, toolName: name64, order: "alternate", reasoning: "refused" }),
  "Mistral by OpenRouter": chat({
    callId: /^[a-zA-Z0-9]{9}$/,
    toolName: name64,
    order: "alternate",
    reasoning: "taken",
  }),
  Moonshot: chat({
    callId: /^[a-zA-Z0-9_.:-]{1,64}$/,
    toolName: /^[a-zA-Z_][a-zA-Z0-9_-]{2,63}$/,
    reasoning: "taken",
    schemaTypes: true,
  }),
  DeepSeek: chat({ callId: name64, toolName: name64, order: "alternate", reasoning: "demanded" }),
  Groq: chat({ callId: name64, toolName: name64, reasoning: "refused" }),
  /** All that a `custom` provider may stand for at once, those aside that refuse thoughts of their own. */
  common: chat({
    callId: /^[a-zA-Z0-9]{9}$/,
    toolName: /^[a-zA-Z_][a-zA-Z0-9_-]{2,63}$/,
    order: "alternate",
    reasoning: "taken",
    schemaTypes: true,
  }),
  OpenRouter: chat({ callId: name64, toolName: name64, reasoning: "taken" }),
} as const satisfies Readonly<Record<string, Judge>>;
