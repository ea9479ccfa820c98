import type { ChatConnection } from "parley/client";
import { parley } from "../api/client.ts";
import { Button } from "../parts/button.tsx";
import { CheckField, TextAreaField, TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { toast } from "../parts/toasts.tsx";
import { type ChatSettingsForm, chatOfForm, formOfChat } from "./chat-words.ts";
import { showChanged } from "./show-changed.ts";

/** The name of a connection, where it is heard, and who may decide what others asked for. */
export function ChatSettings({ connection }: { readonly connection: ChatConnection }) {
  const { id, platform } = connection;
  const form = useApiForm<ChatSettingsForm>(formOfChat(connection), async (values) => {
    const saved = await parley.chatConnections.update(id, chatOfForm(values, platform));
    await showChanged(saved);
    toast("The configuration is saved.");
  });
  const beside = form.isChanged && <Button onClick={() => form.reset(formOfChat(connection))}>Discard changes</Button>;
  return (
    <ApiForm form={form} action="Save" disabled={!form.isChanged} beside={beside}>
      <TextField form={form} name="name" label="Name" />
      {platform === "chat_a" ? (
        <TextAreaField
          form={form}
          name="configuration.channelIds"
          label="Channels"
          rows={3}
          code
          hint="Ids, one a line. Empty: every channel that the bot is in."
        />
      ) : (
        <>
          <TextAreaField
            form={form}
            name="configuration.chatIds"
            label="Chats"
            rows={3}
            code
            hint="Ids, one a line. Empty: every chat."
          />
          <CheckField
            form={form}
            name="configuration.businessMode"
            label="Business mode"
            hint="Answers for the business accounts that the bot is connected with."
          />
        </>
      )}
      <TextAreaField
        form={form}
        name="configuration.approverIds"
        label="Approvers"
        rows={2}
        code
        hint="Ids of people who may decide what others asked for, one a line."
      />
    </ApiForm>
  );
}
