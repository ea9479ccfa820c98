import { useQuery } from "@tanstack/react-query";
import type { Skill } from "parley/client";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { ConfirmButton } from "../parts/dialog.tsx";
import { TextAreaField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";

/** A longer file is not edited here: a text field gets slow with it. */
const editedBytesMax = 256 * 1024;

interface EditFileProps {
  readonly skill: Skill;
  readonly path: string;
  onDeleted(): void;
}

/** A file of a skill, to read and to change where it is text. */
export function EditFile({ skill, path, onDeleted }: EditFileProps) {
  const file = useQuery({
    queryKey: ["skill-file", skill.id, path, skill.updatedAt],
    queryFn: ({ signal }) => parley.skills.readFile(skill.agentId, skill.id, { path }, { signal }),
  });
  return (
    <Await query={file}>
      {(bytes) => {
        const text = textOf(bytes);
        if (text === null) return <Empty>It is no text, or too long to be edited here. It can be downloaded.</Empty>;
        return <Editor skill={skill} path={path} text={text} onDeleted={onDeleted} />;
      }}
    </Await>
  );
}

function textOf(bytes: Uint8Array): string | null {
  if (bytes.byteLength > editedBytesMax) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function Editor({ skill, path, text, onDeleted }: EditFileProps & { readonly text: string }) {
  const form = useApiForm({ content: text }, async ({ content }) => {
    await parley.skills.writeFile(skill.agentId, skill.id, content, { path });
    await queryClient.invalidateQueries({ queryKey: ["skill", skill.id] });
    await queryClient.invalidateQueries({ queryKey: ["skills", skill.agentId] });
    toast(`${path} is saved.`);
  });
  async function remove(): Promise<void> {
    await parley.skills.deleteFile(skill.agentId, skill.id, { path });
    onDeleted();
    await queryClient.invalidateQueries({ queryKey: ["skill", skill.id] });
    toast(`${path} is deleted.`);
  }
  const beside = path !== "SKILL.md" && (
    <ConfirmButton label="Delete" title={`Delete ${path}?`} onConfirm={remove}>
      <p>The file is erased.</p>
    </ConfirmButton>
  );
  return (
    <ApiForm form={form} action="Save" disabled={!form.isChanged} beside={beside}>
      <TextAreaField form={form} name="content" label="Content" rows={18} code />
    </ApiForm>
  );
}
