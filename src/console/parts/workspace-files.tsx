import { useQuery } from "@tanstack/react-query";
import type { WorkspaceFile } from "parley/client";
import { useRef, useState } from "react";
import { parley } from "../api/client.ts";
import { apiBase } from "../api/fetch.ts";
import { queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { Button } from "./button.tsx";
import { type Column, DataTable } from "./data-table.tsx";
import { ConfirmButton, Dialog } from "./dialog.tsx";
import { TextAreaField, TextField } from "./fields.tsx";
import { ApiForm, useApiForm } from "./form.tsx";
import { bytesText, countOf } from "./moment.ts";
import { Await, Empty } from "./states.tsx";
import { toast, toastError } from "./toasts.tsx";

/** This many files are shown at first. */
const shownAtFirst = 50;
/** A larger file is not edited here. */
const editedBytesMax = 262_144;

/** Under this the files of a workspace are kept. */
export const workspaceFilesKey = (workspaceId: string) => ["workspace-files", workspaceId] as const;

interface WorkspaceFilesProps {
  readonly workspaceId: string;
  /** Said where there are none. */
  readonly empty: string;
  /** Whether who may is offered to add, change and delete them. */
  readonly editable?: boolean;
}

/** The files of a workspace. */
export function WorkspaceFiles({ workspaceId, empty, editable = false }: WorkspaceFilesProps) {
  const [shown, setShown] = useState(shownAtFirst);
  const mayEdit = useMay("editor") && editable;
  const [editing, setEditing] = useState<EditedFile | null>(null);
  const files = useQuery({
    queryKey: workspaceFilesKey(workspaceId),
    queryFn: ({ signal }) => parley.workspaces.getFiles(workspaceId, {}, { signal }),
  });
  async function open({ path }: WorkspaceFile): Promise<void> {
    const content = await parley.workspaces.getFiles(workspaceId, { path });
    setEditing({ path, text: new TextDecoder("utf-8", { fatal: true }).decode(content) });
  }
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
    ...(mayEdit
      ? [
          {
            name: "",
            cell: (file: WorkspaceFile) => (
              <span className="row-actions">
                <Button
                  disabled={file.sizeBytes > editedBytesMax}
                  onClick={() => void open(file).catch(() => toast("It is no text: download it.", "bad"))}
                >
                  Edit
                </Button>
                <DeleteFile workspaceId={workspaceId} path={file.path} />
              </span>
            ),
          },
        ]
      : []),
  ];
  return (
    <>
      {mayEdit && <AddFiles workspaceId={workspaceId} onNew={() => setEditing({ path: "", text: "" })} />}
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
      <Dialog title={editing?.path || "New file"} open={editing !== null} onOpenChange={() => setEditing(null)}>
        {editing !== null && <EditFile workspaceId={workspaceId} file={editing} onDone={() => setEditing(null)} />}
      </Dialog>
    </>
  );
}

/** A text file under way; a new one has no path yet. */
interface EditedFile {
  readonly path: string;
  readonly text: string;
}

function readAnew(workspaceId: string): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: workspaceFilesKey(workspaceId) });
}

function AddFiles({ workspaceId, onNew }: { readonly workspaceId: string; onNew(): void }) {
  const chooser = useRef<HTMLInputElement>(null);
  async function upload(files: readonly File[]): Promise<void> {
    for (const file of files) await parley.workspaces.writeFile(workspaceId, file, { path: file.name });
    await readAnew(workspaceId);
    toast(`${countOf(files.length, "file is", "files are")} there now.`);
  }
  return (
    <p className="row-actions">
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          void upload([...(event.target.files ?? [])]).catch(toastError);
          event.target.value = "";
        }}
      />
      <Button onClick={() => chooser.current?.click()}>Upload</Button>
      <Button onClick={onNew}>New file</Button>
    </p>
  );
}

interface EditFileProps {
  readonly workspaceId: string;
  readonly file: EditedFile;
  onDone(): void;
}

function EditFile({ workspaceId, file, onDone }: EditFileProps) {
  const form = useApiForm(file, async ({ path, text }) => {
    await parley.workspaces.writeFile(workspaceId, text, { path: path.trim() });
    await readAnew(workspaceId);
    toast(`${path.trim()} is saved.`);
    onDone();
  });
  return (
    <ApiForm form={form} action="Save" disabled={form.values.path.trim() === "" || !form.isChanged}>
      {file.path === "" && <TextField form={form} name="path" label="Path" placeholder="notes/today.md" />}
      <TextAreaField form={form} name="text" label="Text" rows={14} code />
    </ApiForm>
  );
}

function DeleteFile({ workspaceId, path }: { readonly workspaceId: string; readonly path: string }) {
  async function remove(): Promise<void> {
    await parley.workspaces.deleteFile(workspaceId, { path });
    await readAnew(workspaceId);
    toast(`${path} is deleted.`);
  }
  return (
    <ConfirmButton label="Delete" title={`Delete ${path}?`} onConfirm={remove}>
      <p>Agents do not find it any more. It cannot be brought back.</p>
    </ConfirmButton>
  );
}
