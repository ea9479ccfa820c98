import type { Tx } from "../kernel/database/client.ts";

/**
 * Deletes a session's artifacts: the workspace files that its tool calls wrote
 * last (docs/decisions/workspaces.md). A file that was written afterwards, over HTTP
 * or in another session, is no longer its artifact.
 */
export async function deleteArtifacts(inner: Tx, sessionId: string): Promise<void> {
  await inner`delete from workspace_files where session_id = ${sessionId}`;
}
