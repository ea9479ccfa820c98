import { useQuery, useQueryClient } from "@tanstack/react-query";
import { parley } from "../api/client.ts";
import { useMay } from "../api/role.ts";
import { CopyableId } from "../parts/copyable-id.tsx";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { When } from "../parts/when.tsx";
import { WorkspaceFiles, workspaceFilesKey } from "../parts/workspace-files.tsx";
import { Terminal } from "./terminal.tsx";

/** One workspace: a terminal on it, and its files. */
export function WorkspacePage({ workspaceId }: { readonly workspaceId: string }) {
  const workspace = useQuery({
    queryKey: ["workspace", workspaceId],
    queryFn: ({ signal }) => parley.workspaces.get(workspaceId, { signal }),
  });
  const queryClient = useQueryClient();
  const mayRun = useMay("editor");
  return (
    <Await query={workspace}>
      {({ name, userId, runtime, createdAt }) => (
        <PageFrame title={name} parent={{ title: "Workspaces", to: "/workspaces" }}>
          <Facts
            facts={{
              Id: <CopyableId id={workspaceId} />,
              User: userId || undefined,
              "Commands run in": runtime,
              Created: <When at={createdAt} />,
            }}
          />
          {mayRun && (
            <Terminal
              workspaceId={workspaceId}
              onEnd={() => void queryClient.invalidateQueries({ queryKey: workspaceFilesKey(workspaceId) })}
            />
          )}
          <Section title="Files">
            <WorkspaceFiles workspaceId={workspaceId} empty="The workspace holds no file." editable />
          </Section>
        </PageFrame>
      )}
    </Await>
  );
}
