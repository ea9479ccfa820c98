import { type JSONSchema7, jsonSchema, type ToolSet, tool } from "ai";
import { invalid } from "../kernel/errors.ts";
import { misfitOf, type ValueSchema } from "../kernel/json-schema.ts";
import { storable } from "../messages/text.ts";
import type { TurnTool } from "./tool.ts";

/** What the model is told of a client tool. */
interface DescribedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ValueSchema;
}

/**
 * Returns a client tool: one without `execute`, whose calls wait for the caller's result. The
 * model's input is checked against the schema, so that the caller gets no call that it
 * cannot run; NUL and lone surrogates are replaced as in everything that comes from a model.
 */
export function clientTool({ name, description, inputSchema }: DescribedTool): TurnTool {
  const schema = jsonSchema(inputSchema as JSONSchema7, {
    validate: async (sent) => {
      const value = storable(sent);
      const misfit = await misfitOf(inputSchema, value);
      if (misfit === null) return { success: true, value };
      return { success: false, error: invalid(misfit.path, misfit.message) };
    },
  });
  return { name, tool: tool({ description, inputSchema: schema }), source: { kind: "client" }, readOnly: false };
}

/** Returns whether a tool is the caller's: nothing here runs it. */
export function isClientTool(tools: ToolSet, name: string): boolean {
  return Object.hasOwn(tools, name) && tools[name]?.execute === undefined;
}
