import { Type } from "@sinclair/typebox";
import { json } from "../kernel/database/client.ts";
import { Closed, OneOf } from "../kernel/http/request-fields.ts";
import { builtinTool } from "./builtin.ts";
import type { ToolScope, TurnTool } from "./tool.ts";

/** A list has at most this many entries. */
const todosMax = 200;
/** An entry has at most this many characters. */
const contentCharactersMax = 1_000;

/**
 * Returns the tool group `write_todos` (docs/decisions/tools.md): the model's own
 * to-do list. A new list replaces the one stored with the session; a stateless generation
 * stores none and only gets its list back.
 */
export function todoTools({ sessionId, write: writing }: ToolScope): TurnTool[] {
  const write = builtinTool({
    name: "write_todos",
    description:
      "Write down the list of what is to be done, in place of the list before. Send the whole list each time.",
    input: Closed({
      todos: Type.Array(
        Closed({
          content: Type.String({ minLength: 1, maxLength: contentCharactersMax }),
          status: OneOf("pending", "in_progress", "completed"),
        }),
        { maxItems: todosMax },
      ),
    }),
    readOnly: false,
    execute: async ({ todos }) => {
      if (sessionId !== null)
        await writing((inner) => inner`update sessions set todos = ${json(inner, todos)} where id = ${sessionId}`);
      return { todos };
    },
  });
  return [write];
}
