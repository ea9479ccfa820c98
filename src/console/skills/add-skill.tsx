import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { errorText, queryClient } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import { TextAreaField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { toast } from "../parts/toasts.tsx";
import { archiveTypeOf, skillTemplate } from "./archive-type.ts";

/** Makes a skill of an agent: from a SKILL.md that is written here, or from an archive. */
export function AddSkill({ agentId, onDone }: { readonly agentId: string; onDone(): void }) {
  const [, navigate] = useLocation();
  async function made(skill: { readonly id: string; readonly name: string }): Promise<void> {
    await queryClient.invalidateQueries({ queryKey: ["skills", agentId] });
    toast(`${skill.name} is created.`);
    onDone();
    navigate(`/skills/${agentId}/${skill.id}`);
  }
  const form = useApiForm({ content: skillTemplate }, async ({ content }) =>
    made(await parley.skills.create(agentId, { path: "SKILL.md", content })),
  );
  return (
    <>
      <ApiForm form={form} action="Create">
        <TextAreaField form={form} name="content" label="SKILL.md" rows={12} code />
      </ApiForm>
      <ArchiveField
        label="Or an archive with more files"
        action="Upload"
        send={async (file, type) => made(await parley.skills.upload(agentId, { file, type }))}
      />
    </>
  );
}

/** Adds a skill to the library, or stores the next version of one. */
export function AddLibrarySkill({ skillId, onDone }: { readonly skillId: string | null; onDone(): void }) {
  return (
    <ArchiveField
      label="Archive"
      action={skillId === null ? "Create" : "Save"}
      send={async (file) => {
        const fields = { file, filename: file.name };
        const skill = await (skillId === null
          ? parley.skillLibrary.create(fields)
          : parley.skillLibrary.update(skillId, fields));
        await queryClient.invalidateQueries({ queryKey: ["skill-library"] });
        toast(skillId === null ? `${skill.name} is in the library.` : `The next version of ${skill.name} is saved.`);
        onDone();
      }}
    />
  );
}

interface ArchiveFieldProps {
  readonly label: string;
  readonly action: string;
  send(file: File, type: "zip" | "tar" | "tar.gz"): Promise<void>;
}

function ArchiveField({ label, action, send }: ArchiveFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  async function upload(): Promise<void> {
    const file = input.current?.files?.[0];
    const type = archiveTypeOf(file?.name ?? "");
    if (file === undefined || type === null) return setFault("Choose a .zip, .tar or .tar.gz file.");
    setBusy(true);
    setFault(null);
    await send(file, type).catch((error: unknown) => setFault(errorText(error)));
    setBusy(false);
  }
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        void upload();
      }}
    >
      <div className="field">
        <label>
          {label}
          <input ref={input} type="file" accept=".zip,.tar,.gz,.tgz" />
        </label>
        <p className="hint">At most 10 MiB and 100 files, with a SKILL.md.</p>
        {fault !== null && (
          <p className="fault" role="alert">
            {fault}
          </p>
        )}
      </div>
      <footer>
        <Button type="submit" disabled={busy}>
          {busy ? "Sending…" : action}
        </Button>
      </footer>
    </form>
  );
}
