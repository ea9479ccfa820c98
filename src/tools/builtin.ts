import type { Static, TObject } from "@sinclair/typebox";
import { jsonSchema, type Tool, tool } from "ai";
import { validateBody } from "../kernel/http/validate.ts";
import { storable } from "../messages/text.ts";
import { tellable } from "./error.ts";
import type { TurnTool } from "./tool.ts";

/** What a built-in tool is made of. */
interface BuiltinTool<T extends TObject> {
  readonly name: string;
  /** What the model is told of it. */
  readonly description: string;
  /** Its arguments. The model sees the schema, so it holds nothing but plain JSON Schema. */
  readonly input: T;
  /** Known to change nothing: policy `auto` runs it without asking. */
  readonly readOnly: boolean;
  /** What it throws is told to the model in words made for reading (`tellable`), and the turn goes on. */
  execute(input: Static<T>, signal: AbortSignal | undefined): Promise<unknown>;
}

/**
 * Makes a built-in tool. What the model sends is held against the schema before
 * `execute` sees it, with NUL and lone surrogates replaced as in all that comes
 * from a model (docs/decisions.md, "Text and numbers").
 */
export function builtinTool<T extends TObject>(spec: BuiltinTool<T>): TurnTool {
  const { name, description, input, readOnly } = spec;
  const inputSchema = jsonSchema<Static<T>>(input as never, {
    validate: (value) => {
      try {
        return { success: true, value: validateBody(input, storable(value)) };
      } catch (error) {
        return { success: false, error: error as Error };
      }
    },
  });
  const made = tool({
    description,
    inputSchema,
    execute: async (fields: Static<T>, { abortSignal }: { abortSignal?: AbortSignal | undefined }) => {
      try {
        return await spec.execute(fields, abortSignal);
      } catch (error) {
        throw abortSignal?.aborted === true ? error : tellable(error);
      }
    },
  } as Tool);
  return { name, tool: made, source: { kind: "builtin" }, readOnly };
}
