import type { Tx } from "../kernel/database/client.ts";

/**
 * Deletes a session's artifacts: the workspace files that its tool calls wrote
 * last (design section 3, "Artifacts"). What somebody else wrote afterwards, over
 * HTTP or in another session, is no artifact of it any more.
 */
export async function deleteArtifacts(inner: Tx, sessionId: string): Promise<void> {
  await inner`delete from workspace_files where session_id = ${sessionId}`;
}
