import type { Static, TObject } from "@sinclair/typebox";
import { jsonSchema, type Tool, tool } from "ai";
import { validateBody } from "../kernel/http/validate.ts";
import { storable } from "../messages/text.ts";
import { toToolError } from "./error.ts";
import type { TurnTool } from "./tool.ts";

/** The definition of a built-in tool. */
interface BuiltinTool<T extends TObject> {
  readonly name: string;
  /** The model sees it. */
  readonly description: string;
  /** Its arguments. The model sees the schema, so it holds nothing but plain JSON Schema. */
  readonly input: T;
  /** Known to change nothing: policy `auto` runs it without asking. */
  readonly readOnly: boolean;
  /** What it throws becomes an error that the model may see (`toToolError`), and the turn continues. */
  execute(input: Static<T>, signal: AbortSignal | undefined): Promise<unknown>;
}

/**
 * Returns a built-in tool. The model's input is validated against the schema before
 * `execute` gets it, with NUL and lone surrogates replaced as in everything that comes
 * from a model (docs/decisions/text-and-ids.md).
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
        throw abortSignal?.aborted === true ? error : toToolError(error);
      }
    },
  } as Tool);
  return { name, tool: made, source: { kind: "builtin" }, readOnly };
}
