import { ParleyError } from "parley/client";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { ConfirmButton } from "../parts/dialog.tsx";
import { countOf } from "../parts/moment.ts";
import { toast } from "../parts/toasts.tsx";

/** Rows that are read at once. */
const pageRows = 100;

/** Erases what was said with an end user and what agents remember of them. What they used stays counted. */
export function ForgetUser({ userId }: { readonly userId: string }) {
  async function forget(): Promise<void> {
    await parley.turns.cancel({ userId });
    let sessions = 0;
    let memories = 0;
    for await (const { id: agentId } of parley.agents.listAll({ limit: pageRows })) {
      sessions += await eraseSessions(agentId, userId);
      memories += await eraseMemories(agentId, userId);
    }
    await queryClient.invalidateQueries();
    toast(`${countOf(sessions, "session")} and ${countOf(memories, "memory", "memories")} are erased.`);
  }
  return (
    <ConfirmButton label="Forget user" needs="editor" title="Forget this user?" onConfirm={forget}>
      <p>
        Their turns end, their sessions are erased with all that was said and the files that they wrote, and so are the
        memories that are theirs alone. None of it can be brought back. What they used stays in the usage, under their
        id.
      </p>
    </ConfirmButton>
  );
}

/** What is erased is in no list any more, so the first page is read until it is empty. */
async function eraseSessions(agentId: string, userId: string): Promise<number> {
  let erased = 0;
  for (;;) {
    const { data } = await parley.sessions.list(agentId, { userId, limit: pageRows });
    for (const { id } of data) await eraseSession(agentId, id);
    erased += data.length;
    if (data.length === 0) return erased;
  }
}

/** A turn that was canceled is seen to end a moment later: until then its session is busy. */
const busyTriesMax = 20;
const busyWaitMs = 500;

async function eraseSession(agentId: string, sessionId: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await parley.sessions.delete(agentId, sessionId, { deleteArtifacts: true });
    } catch (error) {
      if (!(error instanceof ParleyError) || error.status !== 409 || tries === busyTriesMax) throw error;
      await new Promise((resolve) => setTimeout(resolve, busyWaitMs));
    }
  }
}

async function eraseMemories(agentId: string, userId: string): Promise<number> {
  let erased = 0;
  for (;;) {
    const { data } = await parley.memories.list(agentId, { userId, limit: pageRows });
    // The list has those for everybody too.
    const own = data.filter((memory) => memory.userId === userId);
    for (const { id } of own) await parley.memories.delete(agentId, id);
    erased += own.length;
    if (own.length === 0) return erased;
  }
}
