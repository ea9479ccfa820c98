import { useQuery } from "@tanstack/react-query";
import type { WorkspaceFile } from "parley/client";
import { useState } from "react";
import { parley } from "../api/client.ts";
import { apiBase } from "../api/fetch.ts";
import { Button } from "./button.tsx";
import { type Column, DataTable } from "./data-table.tsx";
import { bytesText } from "./moment.ts";
import { Await, Empty } from "./states.tsx";

/** This many files are shown at first. */
const shownAtFirst = 50;

/** Under this the files of a workspace are kept. */
export const workspaceFilesKey = (workspaceId: string) => ["workspace-files", workspaceId] as const;

/** The files of a workspace; `empty` is said where there are none. */
export function WorkspaceFiles({ workspaceId, empty }: { readonly workspaceId: string; readonly empty: string }) {
  const [shown, setShown] = useState(shownAtFirst);
  const files = useQuery({
    queryKey: workspaceFilesKey(workspaceId),
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
          <Empty>{empty}</Empty>
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
