import { useQuery } from "@tanstack/react-query";
import type { WorkspaceFile } from "parley/client";
import { useState } from "react";
import { parley } from "../api/client.ts";
import { apiBase } from "../api/fetch.ts";
import { Button } from "../parts/button.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { bytesText } from "../parts/moment.ts";
import { Section } from "../parts/page.tsx";
import { Await, Empty } from "../parts/states.tsx";

/** This many files are shown at first. */
const shownAtFirst = 50;

/** The files of the agent's workspace, where it has one. */
export function SessionFiles({ agentId }: { readonly agentId: string }) {
  const agent = useQuery({
    queryKey: ["agent", agentId],
    queryFn: ({ signal }) => parley.agents.get(agentId, { signal }),
  });
  const workspaceId = agent.data?.workspaceId;
  if (!workspaceId) return null;
  return (
    <Section title="Files">
      <Files workspaceId={workspaceId} />
    </Section>
  );
}

function Files({ workspaceId }: { readonly workspaceId: string }) {
  const [shown, setShown] = useState(shownAtFirst);
  const files = useQuery({
    queryKey: ["workspace-files", workspaceId],
    queryFn: ({ signal }) => parley.workspaces.getFiles(workspaceId, {}, { signal }),
  });
  const columns: readonly Column<WorkspaceFile>[] = [
    {
      name: "Path",
      cell: ({ path }) => (
        <a download href={`${apiBase}/workspaces/${workspaceId}/files?${new URLSearchParams({ path })}`}>
          {path}
        </a>
      ),
    },
    { name: "Size", cell: ({ sizeBytes }) => bytesText(sizeBytes), numeric: true },
  ];
  return (
    <Await query={files}>
      {(list) =>
        list.files.length === 0 ? (
          <Empty>The agent's workspace holds no file.</Empty>
        ) : (
          <>
            <DataTable
              caption="Files"
              columns={columns}
              rows={list.files.slice(0, shown)}
              rowKey={({ path }) => path}
            />
            {list.files.length > shown && (
              <p className="more">
                <Button onClick={() => setShown(shown + 200)}>{list.files.length - shown} more</Button>
              </p>
            )}
          </>
        )
      }
    </Await>
  );
}
