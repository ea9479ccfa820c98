import { useQuery } from "@tanstack/react-query";
import { ParleyError } from "parley/client";
import { parley } from "../api/client.ts";

/** A larger file is not compared, in bytes. */
const comparedBytesMax = 262_144;

/**
 * The text of a file in a workspace as it is now: null where there is none, undefined while that is not known, and of
 * what is no text or too long. Without a workspace or a path nothing is asked for.
 */
export function usePresentText(workspaceId: string | null, path: string | null): string | null | undefined {
  return useQuery({
    queryKey: ["present-text", workspaceId, path],
    queryFn: async ({ signal }): Promise<{ readonly text: string | null | undefined }> => {
      try {
        const query = { path: (path ?? "").replace(/^\/workspace\//, "") };
        const content = await parley.workspaces.getFiles(workspaceId ?? "", query, { signal });
        return { text: textOf(content) };
      } catch (error) {
        if (error instanceof ParleyError && error.status === 404) return { text: null };
        throw error;
      }
    },
    enabled: workspaceId !== null && path !== null,
  }).data?.text;
}

function textOf(content: Uint8Array): string | undefined {
  if (content.byteLength > comparedBytesMax) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return undefined;
  }
}
