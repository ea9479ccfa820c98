import { Type } from "@sinclair/typebox";
import { Closed } from "../kernel/http/request-fields.ts";
import { builtinTool } from "../tools/builtin.ts";
import type { ToolScope, TurnTool } from "../tools/tool.ts";
import { memoryTextBytesMax } from "./schema.ts";
import { createMemory, deleteMemory, type MemoryScope, recallMemories, updateMemory } from "./store.ts";

/** A search returns at most this many memories, so that the result stays under the 256 KiB of a tool's result. */
const recalledMax = 20;

const text = Type.String({ minLength: 1, description: `What to remember, at most ${memoryTextBytesMax} bytes.` });
const memoryId = Type.String({ description: "The id of the memory, mem_…." });

/**
 * Returns the tools of the group `memory` (docs/decisions/tools.md). A session reaches the
 * tenant-level memories of its agent and those of its user, never another
 * user's; what it saves is its user's.
 */
export function memoryTools({ ctx: { sql }, tenantId, agentId, userId, write }: ToolScope): TurnTool[] {
  const reach: MemoryScope = { tenantId, agentId, userIds: ["", userId] };
  return [
    builtinTool({
      name: "memory_save",
      description: "Remember a fact for later conversations.",
      input: Closed({ text }),
      readOnly: false,
      execute: async (input) => ({
        memoryId: (await write((inner) => createMemory(inner, reach, input.text, userId))).id,
      }),
    }),
    builtinTool({
      name: "memory_search",
      description: "Find what was remembered. Each word of the query must begin a word of the memory, in any order.",
      input: Closed({ query: Type.String({ minLength: 1 }) }),
      readOnly: true,
      execute: async ({ query }) => {
        const found = await recallMemories(sql, reach, query, recalledMax);
        const note = found.length < recalledMax ? {} : { note: `At most the newest ${recalledMax} are shown.` };
        return { memories: found.map((memory) => ({ memoryId: memory.id, text: memory.text })), ...note };
      },
    }),
    builtinTool({
      name: "memory_update",
      description: "Replace the text of a memory.",
      input: Closed({ memoryId, text }),
      readOnly: false,
      execute: async (input) => ({
        memoryId: (await write((inner) => updateMemory(inner, reach, input.memoryId, input.text))).id,
      }),
    }),
    builtinTool({
      name: "memory_delete",
      description: "Forget a memory for good.",
      input: Closed({ memoryId }),
      readOnly: false,
      execute: async (input) => {
        await write((inner) => deleteMemory(inner, reach, input.memoryId));
        return { deleted: true };
      },
    }),
  ];
}
