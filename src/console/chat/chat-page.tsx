import { useQuery } from "@tanstack/react-query";
import type { ChatConnection } from "parley/client";
import { useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast, toastError } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { ChatSettings } from "./chat-settings.tsx";
import { platformText, webhookHint } from "./chat-words.ts";
import { ConnectionDeliveries } from "./connection-deliveries.tsx";
import { HealthView } from "./health-view.tsx";
import { showChanged } from "./show-changed.ts";

/** One chat connection: whether it works, its webhook, its configuration and what it delivered. */
export function ChatPage({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ["chat-connection", id],
    queryFn: ({ signal }) => parley.chatConnections.get(id, { signal }),
  });
  const connection = query.data;
  return (
    <PageFrame
      title={connection?.name ?? "Chat connection"}
      parent={{ title: "Chat", to: "/chat" }}
      mark={connection && <StatusBadge status={connection.enabled ? "enabled" : "disabled"} />}
      actions={connection && <ChatActions connection={connection} />}
    >
      <Await query={query}>
        {(known) => (
          <>
            <ChatFacts connection={known} />
            <p className="hint">{webhookHint(known.platform)}</p>
            <Section title="Health" actions={<CheckButton id={known.id} />}>
              <HealthView health={known.health} />
            </Section>
            <Section title="Configuration">
              <ChatSettings key={JSON.stringify([known.name, known.configuration])} connection={known} />
            </Section>
            <Section title="Deliveries">
              <ConnectionDeliveries connection={known} />
            </Section>
          </>
        )}
      </Await>
    </PageFrame>
  );
}

function ChatFacts({ connection }: { readonly connection: ChatConnection }) {
  const { identity, platform } = connection;
  return (
    <Facts
      facts={{
        "Webhook URL": <CopyableId id={connection.webhookUrl} />,
        Platform: platformText(platform),
        Agent: <CopyableId id={connection.agentId} to={`/agents/${connection.agentId}`} />,
        Id: <CopyableId id={connection.id} />,
        "Bot token": <code>…{connection.credentialFragment}</code>,
        Bot: identity.botUserId ?? identity.botId ?? undefined,
        Workspace: identity.teamId ?? undefined,
        Application: identity.appId ?? undefined,
        Created: <When at={connection.createdAt} />,
      }}
    />
  );
}

function CheckButton({ id }: { readonly id: string }) {
  async function check(): Promise<void> {
    await showChanged(await parley.chatConnections.check(id));
    toast("The connection is checked.");
  }
  return <Button onClick={() => void check().catch(toastError)}>Check</Button>;
}

function ChatActions({ connection }: { readonly connection: ChatConnection }) {
  const { id, name } = connection;
  const [, navigate] = useLocation();
  async function enable(): Promise<void> {
    const changed = await parley.chatConnections.enable(id);
    await showChanged(changed);
    if (changed.enabled) toast(`${name} is enabled.`);
    else toast(`${name} stays disabled: its webhook could not be registered.`, "bad");
  }
  async function disable(): Promise<void> {
    await showChanged(await parley.chatConnections.disable(id));
    toast(`${name} is disabled.`);
  }
  async function remove(): Promise<void> {
    await parley.chatConnections.delete(id);
    queryClient.removeQueries({ queryKey: ["chat-connection", id] });
    await queryClient.invalidateQueries({ queryKey: ["chat-connections"] });
    navigate("/chat", { replace: true });
    toast(`${name} is deleted.`);
  }
  return (
    <>
      {connection.enabled ? (
        <ConfirmButton label="Disable" title={`Disable ${name}?`} tone="plain" onConfirm={disable}>
          <p>What people write is not answered until it is enabled again.</p>
        </ConfirmButton>
      ) : (
        <Button onClick={() => void enable().catch(toastError)}>Enable</Button>
      )}
      <ConfirmButton label="Delete" title={`Delete ${name}?`} onConfirm={remove}>
        <p>Its token and what it delivered are erased, and the bot answers nobody any more. This cannot be undone.</p>
      </ConfirmButton>
    </>
  );
}
