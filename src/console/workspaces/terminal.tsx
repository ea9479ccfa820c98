import type { WorkspaceCommand } from "parley/client";
import { useState } from "react";
import { parley } from "../api/client.ts";
import { CodeBlock } from "../parts/code-block.tsx";
import { TextAreaField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";

/** Commands whose output is shown. */
const shownMax = 20;

interface Ran {
  readonly at: number;
  readonly command: string;
  readonly outcome: WorkspaceCommand;
}

interface TerminalProps {
  readonly workspaceId: string;
  /** Called when a command has ended. */
  onEnd(): void;
}

/** Runs commands in a workspace, one after the other, and shows what each put out, the newest first. */
export function Terminal({ workspaceId, onEnd }: TerminalProps) {
  const [ran, setRan] = useState<readonly Ran[]>([]);
  const form = useApiForm({ command: "" }, async ({ command }) => {
    const outcome = await parley.workspaces.runCommand(workspaceId, { command });
    setRan((before) => [{ at: Date.now(), command, outcome }, ...before].slice(0, shownMax));
    onEnd();
  });
  return (
    <Section title="Terminal">
      <ApiForm form={form} action="Run" disabled={form.values.command.trim() === ""}>
        <TextAreaField form={form} name="command" label="Command" rows={2} hint="It is ended after 30 s." />
      </ApiForm>
      {ran.length === 0 && <Empty>No command was run from here.</Empty>}
      {ran.map(({ at, command, outcome }) => (
        <CodeBlock
          key={at}
          label={`$ ${command.split("\n")[0]} (exit code ${outcome.exitCode})`}
          text={textOf(outcome)}
        />
      ))}
    </Section>
  );
}

function textOf({ stdout, stderr, truncated }: WorkspaceCommand): string {
  return `${stdout}${stderr}${truncated ? "[only the beginning is shown]\n" : ""}`;
}
