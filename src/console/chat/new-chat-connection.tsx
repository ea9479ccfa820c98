import { useLocation } from "wouter";
import { useAgents } from "../api/agents.ts";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { SelectField, TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { toast } from "../parts/toasts.tsx";
import { platformChoices } from "./chat-words.ts";

const empty = {
  ...{ name: "", agentId: "", platform: "slack" },
  ...{ "credentials.botToken": "", "credentials.signingSecret": "" },
};

/** Connects a bot of a platform with an agent. */
export function AddChatConnection() {
  const [, navigate] = useLocation();
  const agents = useAgents();
  const form = useApiForm(empty, async (values) => {
    const platform = values.platform === "telegram" ? "telegram" : "slack";
    const botToken = values["credentials.botToken"].trim();
    const signingSecret = values["credentials.signingSecret"].trim();
    const credentials = { botToken, ...(platform === "slack" && { signingSecret }) };
    const { name, agentId } = values;
    const made = await parley.chatConnections.create({ name, agentId, platform, credentials });
    await queryClient.invalidateQueries({ queryKey: ["chat-connections"] });
    toast(`${made.name} is created.`);
    navigate(`/chat/${made.id}`);
  });
  const choices = (agents.data?.agents ?? []).map(({ id, name }) => [id, name] as const);
  return (
    <ApiForm form={form} action="Create">
      <TextField form={form} name="name" label="Name" />
      <SelectField form={form} name="agentId" label="Agent" options={[["", "Choose…"], ...choices]} />
      <SelectField form={form} name="platform" label="Platform" options={platformChoices} />
      <TextField
        form={form}
        name="credentials.botToken"
        label="Bot token"
        masked
        hint="It is stored sealed, and never shown again."
      />
      {form.values.platform === "slack" && (
        <TextField
          form={form}
          name="credentials.signingSecret"
          label="Signing secret"
          masked
          hint="Slack signs with it what it sends."
        />
      )}
    </ApiForm>
  );
}
