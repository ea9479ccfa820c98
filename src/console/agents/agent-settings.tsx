import { Link } from "wouter";
import { useProviders } from "../api/providers.ts";
import { CheckField, SelectField, TextAreaField, TextField } from "../parts/fields.tsx";
import type { FormState } from "../parts/form.tsx";
import type { AgentForm } from "./agent-form.ts";
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

/** The fields of an agent. What is used rarely is folded. */
export function AgentSettings({ form }: { readonly form: FormState<AgentForm> }) {
  return (
    <>
      <TextField form={form} name="name" label="Name" />
      <ProviderField form={form} />
      <ModelField form={form} />
      <TextAreaField
        form={form}
        name="instructions"
        label="Instructions"
        rows={8}
        hint="What the agent is told first."
      />
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
