import type { Prompt } from "parley/client";
import { useState } from "react";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { Button } from "../parts/button.tsx";
import { CopyButton } from "../parts/copyable-id.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ConfirmButton, Dialog } from "../parts/dialog.tsx";
import { TextAreaField, TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { toast } from "../parts/toasts.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { When } from "../parts/when.tsx";

/** Texts with variables, which a turn names instead of a message. */
export default function Prompts() {
  const [editing, setEditing] = useState<Prompt | "new" | null>(null);
  const list = useCursorList<Prompt>({
    key: ["prompts"],
    load: async (cursor, signal) => {
      const { prompts, nextCursor } = await parley.prompts.list({ limit: 50, ...(cursor && { cursor }) }, { signal });
      return { rows: prompts, nextCursor };
    },
  });
  const columns: readonly Column<Prompt>[] = [
    {
      name: "Name",
      cell: ({ id, name }) => (
        <span className="title-line">
          <strong className="title-text">{name}</strong>
          <CopyButton text={id} />
        </span>
      ),
    },
    { name: "Text", cell: ({ template }) => <span className="memory-text">{template}</span> },
    { name: "Variables", cell: ({ variables }) => variables.join(", ") || <span className="faint">–</span> },
    { name: "User", cell: ({ userId }) => <UserLink userId={userId} />, wideOnly: true },
    { name: "Changed", cell: ({ updatedAt }) => <When at={updatedAt} /> },
    { name: "", cell: (prompt) => <RowActions prompt={prompt} onEdit={() => setEditing(prompt)} /> },
  ];
  return (
    <PageFrame
      title="Prompts"
      actions={
        <Button tone="primary" onClick={() => setEditing("new")}>
          New prompt
        </Button>
      }
    >
      <ListView
        list={list}
        caption="Prompts"
        columns={columns}
        rowKey={({ id }) => id}
        empty="There is no prompt. A turn may name one as promptId, with values for its variables, instead of a message."
      />
      <Dialog
        title={editing === "new" ? "New prompt" : "Edit prompt"}
        open={editing !== null}
        onOpenChange={() => setEditing(null)}
      >
        {editing !== null && <EditPrompt prompt={editing === "new" ? null : editing} onDone={() => setEditing(null)} />}
      </Dialog>
    </PageFrame>
  );
}

function RowActions({ prompt, onEdit }: { readonly prompt: Prompt; onEdit(): void }) {
  async function remove(): Promise<void> {
    await parley.prompts.delete(prompt.id);
    await queryClient.invalidateQueries({ queryKey: ["prompts"] });
    toast(`${prompt.name} is deleted.`);
  }
  if (!useMay("editor")) return null;
  return (
    <span className="row-actions">
      <Button onClick={onEdit}>Edit</Button>
      <ConfirmButton label="Delete" title={`Delete ${prompt.name}?`} onConfirm={remove}>
        <p>Turns that name it are refused from now on.</p>
      </ConfirmButton>
    </span>
  );
}

function EditPrompt({ prompt, onDone }: { readonly prompt: Prompt | null; onDone(): void }) {
  const begun = { name: prompt?.name ?? "", template: prompt?.template ?? "" };
  const form = useApiForm(begun, async ({ name, template }) => {
    if (prompt === null) await parley.prompts.create({ name, template });
    else await parley.prompts.update(prompt.id, { name, template });
    await queryClient.invalidateQueries({ queryKey: ["prompts"] });
    toast("The prompt is saved.");
    onDone();
  });
  return (
    <ApiForm form={form} action={prompt === null ? "Create" : "Save"} disabled={!form.isChanged}>
      <TextField form={form} name="name" label="Name" />
      <TextAreaField
        form={form}
        name="template"
        label="Text"
        rows={8}
        hint="Variables stand in double braces, such as {{name}}."
      />
    </ApiForm>
  );
}
