import { Type } from "@sinclair/typebox";
import { Component } from "../kernel/http/component.ts";
import type { PageSize } from "../kernel/http/page.ts";
import { Closed, pageQueryOf, UserId } from "../kernel/http/request-fields.ts";
import type { IdOf } from "../kernel/ids.ts";

/** Memories one agent may have; the least recently accessed makes room. */
export const memoriesPerAgentMax = 500;
/** A memory's text has at most this many bytes as UTF-8. */
export const memoryTextBytesMax = 10 * 1024;
/** Pages of an agent's memories. */
export const memoryPage: PageSize = { max: 100, default: 50 };

/** No text has more characters than bytes; `checkMemoryText` counts the bytes. */
const MemoryText = Type.String({
  example: "Prefers short answers.",
  minLength: 1,
  maxLength: memoryTextBytesMax,
  errorMessage: `must be a text of 1 to ${memoryTextBytesMax} bytes`,
});

export const MemoryCreate = Component("MemoryCreate", { text: MemoryText, userId: Type.Optional(UserId) });

export const MemoryUpdate = Component("MemoryUpdate", { text: MemoryText });

export const MemoryQuery = Closed({
  ...pageQueryOf(memoryPage),
  userId: Type.Optional(UserId),
  search: Type.Optional(Type.String({ minLength: 1, maxLength: memoryTextBytesMax })),
});

/** A memory in a response (docs/decisions/memories.md). */
export interface Memory {
  readonly id: IdOf<"memory">;
  readonly tenantId: string;
  readonly agentId: IdOf<"agent">;
  readonly userId: string;
  readonly text: string;
  readonly lastAccessedAt: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}
