import { useQuery } from "@tanstack/react-query";
import type { McpConnection } from "parley/client";
import { useLocation } from "wouter";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { useConsoleSession } from "../api/session.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast, toastError } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { ConnectionTools } from "./connection-tools.tsx";
import { authTypeText, signInHindrance, statusReason, targetOfForm } from "./connection-words.ts";
import { emptyTarget, TargetSettings } from "./target-fields.tsx";

/** How often a connection is read anew while a person may be signing in, in ms. */
const refreshMs = 2000;

/** Shows what an action responded with, and reads the lists again when they are next shown. */
async function take(connection: McpConnection): Promise<void> {
  queryClient.setQueryData(["mcp-connection", connection.id], connection);
  await queryClient.invalidateQueries({ queryKey: ["mcp-connections"] });
}

/** One MCP connection: its status with the reason, its tools, and its settings. */
export function ConnectionPage({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ["mcp-connection", id],
    queryFn: ({ signal }) => parley.mcpConnections.get(id, { signal }),
    refetchInterval: ({ state }) => (state.data !== undefined && waitsForPerson(state.data) ? refreshMs : false),
  });
  const connection = query.data;
  return (
    <PageFrame
      title={connection?.name ?? "Connection"}
      parent={{ title: "Connections", to: "/connections" }}
      mark={connection && <StatusBadge status={connection.status} />}
      actions={connection && <ConnectionActions connection={connection} />}
    >
      <Await query={query}>
        {(known) => (
          <>
            <StatusNotice connection={known} />
            <Facts
              facts={{
                Id: <CopyableId id={known.id} />,
                URL: known.url,
                Authentication: authTypeText(known.authType),
                Credential: known.credentialFragment ? <code>…{known.credentialFragment}</code> : undefined,
                "Authorization server": known.oauthIssuer ?? undefined,
                Resource: known.oauthResource ?? undefined,
                "Token expires": known.tokenExpiresAt === null ? undefined : <When at={known.tokenExpiresAt} />,
                Created: <When at={known.createdAt} />,
                Changed: <When at={known.updatedAt} />,
              }}
            />
            <Section title="Tools">
              <ConnectionTools connectionId={known.id} />
            </Section>
            <Section title="Settings">
              <Rename key={known.name} connection={known} />
            </Section>
            <Section title="Server and credentials">
              <Reconnect key={`${known.url} ${known.authType}`} connection={known} />
            </Section>
          </>
        )}
      </Await>
    </PageFrame>
  );
}

/** Whether somebody can sign in to the server now. */
function waitsForPerson({ authType, status }: McpConnection): boolean {
  return authType === "oauth_authorization_code" && status !== "connected";
}

/** Why the connection does not work, and what a person can do about it. */
function StatusNotice({ connection }: { readonly connection: McpConnection }) {
  const reason = statusReason(connection);
  const userId = useUserId();
  if (reason === null) return null;
  const hindrance = waitsForPerson(connection) ? signInHindrance(connection, userId) : null;
  return (
    <div className="notice" role="status">
      <p>{reason}</p>
      {hindrance !== null && <p>{hindrance}</p>}
    </div>
  );
}

/** The member or dashboard user who is signed in; null for an API key. */
function useUserId(): string | null {
  const principal = useConsoleSession().data?.principal;
  return principal?.kind === "tenant" ? (principal.memberId ?? principal.userId) : null;
}

function ConnectionActions({ connection }: { readonly connection: McpConnection }) {
  const { id, name } = connection;
  const [, navigate] = useLocation();
  const hindrance = signInHindrance(connection, useUserId());
  async function remove(): Promise<void> {
    await parley.mcpConnections.delete(id);
    queryClient.removeQueries({ queryKey: ["mcp-connection", id] });
    await queryClient.invalidateQueries({ queryKey: ["mcp-connections"] });
    navigate("/connections", { replace: true });
    toast(`${name} is deleted.`);
  }
  return (
    <>
      {waitsForPerson(connection) && (
        <Button
          tone="primary"
          disabled={hindrance !== null}
          {...(hindrance !== null && { title: hindrance })}
          onClick={() => void signInElsewhere(id).catch(toastError)}
        >
          Connect
        </Button>
      )}
      <ConfirmButton label="Delete" title={`Delete ${name}?`} onConfirm={remove}>
        <p>Its credentials are erased, and its tools are gone. Agents that use it have to let go of it first.</p>
      </ConfirmButton>
    </>
  );
}

/**
 * Opens the server's sign-in in a new tab. The tab is opened within the click, because browsers
 * refuse it later; it learns nothing of this one.
 */
async function signInElsewhere(id: string): Promise<void> {
  const tab = window.open("about:blank", "_blank");
  if (tab === null) throw new Error("The browser did not open a new tab. Allow that for this page, and try again.");
  try {
    tab.opener = null;
    const { url } = await parley.mcpConnections.createSignInLink(id);
    tab.location.replace(url);
  } catch (error) {
    tab.close();
    throw error;
  }
}

function Rename({ connection }: { readonly connection: McpConnection }) {
  const form = useApiForm({ name: connection.name }, async ({ name }) => {
    await take(await parley.mcpConnections.update(connection.id, { name }));
    toast("The name is saved.");
  });
  return (
    <ApiForm form={form} action="Save" disabled={!form.isChanged}>
      <TextField form={form} name="name" label="Name" />
    </ApiForm>
  );
}

/** Replaces the address and the credentials; the service asks the server first, and changes nothing when that fails. */
function Reconnect({ connection }: { readonly connection: McpConnection }) {
  const { url, authType } = connection;
  const form = useApiForm({ ...emptyTarget, url, authType: authType as string }, async (values) => {
    const { connection: changed } = await parley.mcpConnections.reconnect(connection.id, targetOfForm(values));
    await take(changed);
    form.reset({ ...emptyTarget, url: changed.url, authType: changed.authType });
    toast(
      changed.status === "connected"
        ? "The connection is changed, and works."
        : "The connection is changed. Connect it now.",
    );
  });
  return (
    <ApiForm form={form} action="Reconnect">
      <p className="hint">The credentials are replaced as a whole: enter them again.</p>
      <TargetSettings form={form} />
    </ApiForm>
  );
}
