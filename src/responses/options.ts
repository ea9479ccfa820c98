import type { Static } from "@sinclair/typebox";
import { type ClientTool, clientToolDescriptionCharactersMax, clientToolIssues } from "../agents/client-tools.ts";
import { presentSettings } from "../agents/model-settings.ts";
import { invalid, invalidAll } from "../kernel/errors.ts";
import { validateAt } from "../kernel/http/validate.ts";
import type { ToolChoice } from "../model/model-call-request.ts";
import type { ResponseFormat } from "../model/response-format.ts";
import type { ModelSettings } from "../providers/model-settings.ts";
import { checkResponseFormat } from "../sessions/response-format.ts";
import type { CallerOptions } from "../sessions/state/caller-options.ts";
import type { Echo } from "./resource.ts";
import { type CreateBody, FunctionTool, otherTools } from "./schema.ts";

/** What a request adds to its agent, checked. */
export interface AskedOptions {
  readonly instructions: string | null;
  readonly tools: readonly ClientTool[];
  readonly toolChoice: ToolChoice;
  readonly format: ResponseFormat | null;
  /** In place of the agent's, for this response alone. */
  readonly settings: ModelSettings;
  /** The same; null: the agent's. */
  readonly thinkingLevel: string | null;
}

/** Reads what a request adds to its agent. Throws 400 naming the field. */
export function readOptions(body: CreateBody): AskedOptions {
  const tools = readTools(body).map(({ name, description, parameters }) => ({
    name,
    description: description ?? "",
    inputSchema: withType(parameters ?? {}),
  }));
  checkTools(tools);
  const format = formatOf(body);
  checkResponseFormat(format, "/text/format");
  const toolChoice = choiceOf(body, tools);
  const thinkingLevel = body.reasoning?.effort ?? null;
  const settings = settingsOf(body);
  return { instructions: body.instructions ?? null, tools, toolChoice, format, settings, thinkingLevel };
}

function settingsOf({ temperature = null, top_p = null, max_output_tokens = null }: CreateBody): ModelSettings {
  return presentSettings({ temperature, topP: top_p, maxOutputTokens: max_output_tokens });
}

/** Returns the tools of a request. Throws 400 naming what is wrong, or not supported. */
function readTools({ tools }: CreateBody): Static<typeof FunctionTool>[] {
  return (tools ?? []).map((tool, index) => {
    const path = `/tools/${index}`;
    if (typeof tool !== "object" || tool === null || Array.isArray(tool)) throw invalid(path, "must be an object");
    const { type } = tool as { readonly type?: unknown };
    if (type !== "function") throw invalid(`${path}/type`, otherTools);
    return validateAt(FunctionTool, tool, path);
  });
}

/** A schema that says nothing of its type is one of an object. */
function withType(parameters: Readonly<Record<string, unknown>>): ClientTool["inputSchema"] {
  return { type: "object", ...parameters } as ClientTool["inputSchema"];
}

const nameShape = /^[A-Za-z0-9_-]{1,64}$/;

function checkTools(tools: readonly ClientTool[]): void {
  for (const [index, { name, description, inputSchema }] of tools.entries()) {
    const path = `/tools/${index}`;
    if (!nameShape.test(name)) throw invalid(`${path}/name`, "must have 1 to 64 letters, digits, _ and -");
    if ([...description].length > clientToolDescriptionCharactersMax)
      throw invalid(
        `${path}/description`,
        `must be a text of at most ${clientToolDescriptionCharactersMax} characters`,
      );
    if (inputSchema.type !== "object") throw invalid(`${path}/parameters/type`, 'must be "object"');
  }
  const issues = clientToolIssues(tools).map(({ path, message }) => ({
    path: path.replace("/clientTools/", "/tools/").replace("/inputSchema", "/parameters"),
    message,
  }));
  if (issues.length > 0) throw invalidAll(issues);
}

function choiceOf({ tool_choice: choice }: CreateBody, tools: readonly ClientTool[]): ToolChoice {
  if (choice === undefined || choice === null) return "auto";
  if (typeof choice === "string") return choice;
  if (!tools.some(({ name }) => name === choice.name)) throw invalid("/tool_choice/name", "is none of the tools");
  return { tool: choice.name };
}

function formatOf({ text }: CreateBody): ResponseFormat | null {
  const format = text?.format;
  if (format === undefined || format === null || format.type === "text") return null;
  const { name, schema } = format;
  if (name != null && !nameShape.test(name))
    throw invalid("/text/format/name", "must have 1 to 64 letters, digits, _ and -");
  return { type: "json_schema", ...(name == null ? {} : { name }), schema } as ResponseFormat;
}

/** Returns the options of a turn, with what its response says again. */
export function callerOptionsOf(asked: AskedOptions, echo: Echo): CallerOptions {
  const texts = [asked.instructions ?? "", ...echo.system];
  return {
    instructions: texts.filter((text) => text !== "").join("\n\n"),
    tools: asked.tools,
    toolChoice: asked.toolChoice,
    settings: asked.settings,
    ...(asked.thinkingLevel === null ? {} : { thinkingLevel: asked.thinkingLevel }),
    echo: { ...echo },
  };
}

/**
 * Returns the options of a turn that goes on: a request that says nothing of the tools and the
 * instructions goes on with those that its turn has, and the tools whose calls it answers stay. Settings of the model are
 * those of each request.
 */
export function continuedOptions(asked: AskedOptions, echo: Echo, before: CallerOptions | null): CallerOptions {
  const own = callerOptionsOf(asked, echo);
  const isNew = ({ name }: ClientTool) => !asked.tools.some((tool) => tool.name === name);
  return {
    ...own,
    instructions:
      asked.instructions === null && echo.system.length === 0 ? (before?.instructions ?? "") : own.instructions,
    tools: [...asked.tools, ...(before?.tools ?? []).filter(isNew)],
  };
}

/** Returns what a response says again of its request. */
export function echoedFields(body: CreateBody): Omit<Echo, "previousResponseId" | "system"> {
  const { text } = body;
  return {
    instructions: body.instructions ?? null,
    metadata: body.metadata ?? {},
    tools: readTools(body).map(({ name, description = null, parameters = null, strict = null }) => ({
      type: "function",
      name,
      description,
      parameters,
      strict,
    })),
    toolChoice: body.tool_choice ?? "auto",
    textFormat: echoedFormat(text?.format ?? null),
    background: body.background ?? false,
    temperature: body.temperature ?? null,
    topP: body.top_p ?? null,
    maxOutputTokens: body.max_output_tokens ?? null,
    effort: body.reasoning?.effort ?? null,
    user: body.user ?? null,
  };
}

function echoedFormat(format: NonNullable<CreateBody["text"]>["format"]): object {
  if (format == null || format.type === "text") return { type: "text" };
  const { name, schema, description = null, strict } = format;
  return { type: "json_schema", name: name ?? "answer", description, schema, strict: strict ?? false };
}
