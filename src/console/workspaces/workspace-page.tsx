import { useQuery } from "@tanstack/react-query";
import type { WorkspaceFile } from "parley/client";
import { parley } from "../api/client.ts";
import { CopyableId } from "../parts/copyable-id.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { bytesText } from "../parts/moment.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { When } from "../parts/when.tsx";
import { Terminal } from "./terminal.tsx";

const columns: readonly Column<WorkspaceFile>[] = [
  { name: "Path", cell: ({ path }) => <code>{path}</code> },
  { name: "Size", cell: ({ sizeBytes }) => bytesText(sizeBytes), numeric: true },
];

/** One workspace: a terminal on it, and its files. */
export function WorkspacePage({ workspaceId }: { readonly workspaceId: string }) {
  const workspace = useQuery({
    queryKey: ["workspace", workspaceId],
    queryFn: ({ signal }) => parley.workspaces.get(workspaceId, { signal }),
  });
  const files = useQuery({
    queryKey: ["workspace-files", workspaceId],
    queryFn: async ({ signal }) => {
      const listed = await parley.workspaces.getFiles(workspaceId, {}, { signal });
      return "files" in listed ? listed.files : [];
    },
  });
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
          <Terminal workspaceId={workspaceId} onEnd={() => void files.refetch()} />
          <Section title="Files">
            <Await query={files}>
              {(rows) => <DataTable caption="Files" columns={columns} rows={rows} rowKey={({ path }) => path} />}
            </Await>
          </Section>
        </PageFrame>
      )}
    </Await>
  );
}
