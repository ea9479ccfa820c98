import { Link } from "wouter";
import { useProviders } from "../api/providers.ts";
import { CheckField, SelectField, TextAreaField, TextField } from "../parts/fields.tsx";
import type { FormState } from "../parts/form.tsx";
import type { AgentForm, VersionForm } from "./agent-form.ts";
import { ConnectionChoice } from "./connection-choice.tsx";
import { ModelField } from "./model-field.tsx";

const modes = [
  ["full", "full: runs every tool"],
  ["auto", "auto: asks before a tool that changes something"],
  ["manual", "manual: asks before every tool"],
] as const;

const cachings = [
  ["auto", "auto: marks what a vendor may cache"],
  ["off", "off: sends no marks"],
] as const;

interface SettingsProps<Form extends AgentForm> {
  readonly form: FormState<Form>;
}

/** The fields of an agent. What is used rarely is folded. */
export function AgentSettings<Form extends AgentForm>(props: SettingsProps<Form>) {
  const form = props.form as unknown as FormState<AgentForm>;
  return (
    <>
      <TextField form={form} name="name" label="Name" />
      <ProviderField form={form} />
      <ModelField form={form} />
      <InstructionsField form={form} />
      <ToolFields form={form} />
      <fieldset>
        <legend>Approvals</legend>
        <SelectField form={form} name="approvalInChat.default" label="In sessions" options={modes} />
        <SelectField form={form} name="approvalInTasks.default" label="In tasks" options={modes} />
      </fieldset>
      <details className="more-fields">
        <summary>Model settings</summary>
        <ModelSettingsFields form={form} />
      </details>
      <details className="more-fields">
        <summary>More settings</summary>
        <MoreFields form={form} />
      </details>
    </>
  );
}

/** The fields that decide what an agent says, to be tried. */
export function TriedFields<Form extends AgentForm>(props: SettingsProps<Form>) {
  const form = props.form as unknown as FormState<AgentForm>;
  return (
    <>
      <InstructionsField form={form} />
      <ProviderField form={form} />
      <ModelField form={form} />
      <ToolFields form={form} />
      <SelectField form={form} name="approvalInChat.default" label="Approvals" options={modes} />
      <details className="more-fields">
        <summary>Model settings</summary>
        <TextField form={form} name="thinkingLevel" label="Thinking level" hint="Empty: the model's own." />
        <ModelSettingsFields form={form} />
      </details>
    </>
  );
}

/** Why the next version is made. */
export function ChangeNoteField({ form }: { readonly form: FormState<VersionForm> }) {
  return (
    <TextField
      form={form}
      name="changeNote"
      label="Why (optional)"
      hint="One line, which the list of versions shows."
    />
  );
}

function InstructionsField({ form }: SettingsProps<AgentForm>) {
  return (
    <TextAreaField form={form} name="instructions" label="Instructions" rows={8} hint="What the agent is told first." />
  );
}

function ToolFields({ form }: SettingsProps<AgentForm>) {
  return (
    <fieldset>
      <legend>Tools</legend>
      <CheckField form={form} name="workspace" label="Workspace" hint="Files and a shell of its own." />
      <CheckField form={form} name="write_todos" label="To-dos" hint="A list that it keeps during a turn." />
      <CheckField form={form} name="memory" label="Memory" hint="What it keeps from one session to the next." />
      <CheckField
        form={form}
        name="memoryInjectionEnabled"
        label="Memories in the prompt"
        hint="Puts its memories into each turn."
      />
      <ConnectionChoice form={form} />
    </fieldset>
  );
}

function ProviderField({ form }: { readonly form: FormState<AgentForm> }) {
  const providers = useProviders();
  const known = providers.data?.providers ?? [];
  const hint =
    providers.data !== undefined && known.length === 0 ? (
      <>
        There is no provider yet. <Link href="/providers">Add one</Link> first.
      </>
    ) : undefined;
  const options = [["", "None"] as const, ...known.map(({ id, name }) => [id, name] as const)];
  return <SelectField form={form} name="providerId" label="Provider" options={options} hint={hint} />;
}

/** What is empty is the vendor's own default; a model that is known not to take a setting is named when the agent is saved. */
function ModelSettingsFields({ form }: { readonly form: FormState<AgentForm> }) {
  return (
    <>
      <TextField
        form={form}
        name="modelSettings.temperature"
        label="Temperature"
        hint="0 to 2; empty: the model's own."
      />
      <TextField form={form} name="modelSettings.topP" label="Top p" hint="0 to 1; empty: the model's own." />
      <TextField
        form={form}
        name="modelSettings.maxOutputTokens"
        label="Output tokens of a model call"
        hint="Empty: as many as the model gives."
      />
      <TextAreaField
        form={form}
        name="modelSettings.stopSequences"
        label="Stop sequences"
        hint='JSON: ["END"]. The answer ends before one of these.'
        code
      />
      <SelectField form={form} name="promptCaching" label="Prompt caching" options={cachings} />
      <TextField form={form} name="modelSettings.seed" label="Seed" hint="A whole number; empty: none." />
    </>
  );
}

function MoreFields({ form }: { readonly form: FormState<AgentForm> }) {
  const policy = 'JSON: [{ "tool": "bash", "mcpConnectionId": null, "mode": "manual" }]';
  return (
    <>
      <TextField form={form} name="thinkingLevel" label="Thinking level" hint="Empty: the model's own." />
      <TextAreaField form={form} name="approvalInChat.overrides" label="Exceptions in sessions" hint={policy} code />
      <TextAreaField form={form} name="approvalInTasks.overrides" label="Exceptions in tasks" hint={policy} code />
      <TextAreaField
        form={form}
        name="clientTools"
        label="Client tools"
        hint='JSON: [{ "name": "locate", "description": "Where the user is.", "inputSchema": { "type": "object" } }]'
        code
      />
      <TextAreaField
        form={form}
        name="fallbackModels"
        label="Fallback models"
        hint='JSON, at most 3: [{ "providerId": "prv_…", "model": "…" }]'
        code
      />
      <TextField form={form} name="turnLimits.maxModelCalls" label="Model calls of a turn" hint="1 to 50; empty: 50." />
      <TextField form={form} name="turnLimits.maxTokens" label="Tokens of a turn" hint="Empty: no limit." />
      <TextField
        form={form}
        name="turnLimits.maxSeconds"
        label="Seconds of a turn"
        hint="1 to 21,600; empty: 21,600."
      />
      <CheckField
        form={form}
        name="autoCompaction"
        label="Summarise long transcripts"
        hint="When they no longer fit into the model's window."
      />
      <TextField form={form} name="compactionReserveTokens" label="Tokens kept free for the answer" />
      <TextAreaField form={form} name="metadata" label="Metadata" hint="JSON of your own." code />
    </>
  );
}
