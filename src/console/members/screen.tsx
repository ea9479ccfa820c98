import type { Member } from "parley/client";
import { useState } from "react";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useIdentityProvider } from "../api/identity-provider.ts";
import { queryClient } from "../api/queries.ts";
import { type ConsoleRole, useConsoleSession } from "../api/session.ts";
import { Button } from "../parts/button.tsx";
import { copyText } from "../parts/copy-text.ts";
import type { Column } from "../parts/data-table.tsx";
import { ConfirmButton, Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { RoleField } from "../parts/role-field.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";

const columns: readonly Column<Member>[] = [
  { name: "Who", cell: Who },
  { name: "Role", cell: Role },
  { name: "Last sign-in", cell: LastSignIn },
  { name: "", cell: (member) => <ChangeRole member={member} /> },
  { name: "", cell: (member) => <RemoveMember member={member} /> },
];

/** The people who may sign in to the console for this tenant. */
export default function Members() {
  const [inviting, setInviting] = useState(false);
  const list = useCursorList<Member>({
    key: ["members"],
    load: async (cursor, signal) => {
      const { data, nextCursor } = await parley.members.list({ limit: 50, ...(cursor && { cursor }) }, { signal });
      return { rows: data, nextCursor };
    },
  });
  return (
    <PageFrame
      title="Members"
      actions={
        <Button tone="primary" onClick={() => setInviting(true)}>
          Invite
        </Button>
      }
    >
      <ListView
        list={list}
        caption="Members, the newest first"
        columns={columns}
        rowKey={({ id }) => id}
        empty="Nobody yet. Members sign in by the identity provider; an API key needs no member."
      />
      <Dialog title="Invite" open={inviting} onOpenChange={setInviting}>
        <WithoutProvider />
        <Invite onDone={() => setInviting(false)} />
      </Dialog>
    </PageFrame>
  );
}

function Who({ name, email }: Member) {
  return (
    <>
      {name ?? email}
      {name !== null && <span className="block faint">{email}</span>}
    </>
  );
}

function Role({ role, groupRole }: Member) {
  if (groupRole === null) return role;
  return role === null ? `${groupRole}, by a group` : `${role}, and ${groupRole} by a group`;
}

function LastSignIn({ lastSignInAt, invitedUntil }: Member) {
  if (lastSignInAt !== null) return <When at={lastSignInAt} />;
  if (invitedUntil === null) return "never";
  return (
    <>
      {Date.parse(invitedUntil) < Date.now() ? "The invitation ended" : "Invited until"} <When at={invitedUntil} />
    </>
  );
}

/** Says what to do where no identity provider is set up, so that no invitation could be accepted. */
function WithoutProvider() {
  const { data } = useIdentityProvider();
  if (data?.provider !== null) return null;
  return (
    <p className="hint">
      This installation has no identity provider, so nobody can accept an invitation yet. To give somebody access now,
      make <Link href="/keys">an API key</Link> with the role they need.
    </p>
  );
}

/** Makes a member, and shows the link to hand on. */
function Invite({ onDone }: { onDone(): void }) {
  const [made, setMade] = useState<Member | null>(null);
  const begun: { readonly email: string; readonly role: ConsoleRole } = { email: "", role: "reader" };
  const form = useApiForm(begun, async ({ email, role }) => {
    setMade(await parley.members.create({ email: email.trim(), role }));
    await showChanged();
  });
  if (made !== null) return <InvitationLink member={made} onDone={onDone} />;
  return (
    <ApiForm form={form} action="Invite" disabled={form.values.email.trim() === ""}>
      <TextField form={form} name="email" label="E-mail address" hint="The one that the identity provider knows." />
      <RoleField form={form} />
    </ApiForm>
  );
}

function InvitationLink({ member, onDone }: { readonly member: Member; onDone(): void }) {
  const publicUrl = useConsoleSession().data?.installation?.publicUrl ?? window.location.origin;
  const link = `${publicUrl}/console`;
  return (
    <>
      <p>
        No mail is sent. Hand this link on to {member.email}; who signs in there with that address, which the identity
        provider has verified, is a member. The invitation ends{" "}
        {member.invitedUntil !== null && <When at={member.invitedUntil} />}.
      </p>
      <p>
        <code>{link}</code>
      </p>
      <footer>
        <Button onClick={() => void copyText(link)}>Copy link</Button>
        <Button tone="primary" onClick={onDone}>
          Done
        </Button>
      </footer>
    </>
  );
}

/** Gives another role; who has not signed in yet is invited anew by it. */
function ChangeRole({ member }: { readonly member: Member }) {
  const [open, setOpen] = useState(false);
  const form = useApiForm({ role: member.role ?? ("reader" as ConsoleRole) }, async ({ role }) => {
    await parley.members.update(member.id, { role });
    await showChanged();
    setOpen(false);
    toast(`${member.email} is ${role} now.`);
  });
  const isInvited = member.lastSignInAt === null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>{isInvited ? "Invite again" : "Change role"}</Button>
      <Dialog title={member.email} open={open} onOpenChange={setOpen}>
        <ApiForm form={form} action={isInvited ? "Invite again" : "Change role"}>
          <RoleField form={form} hint="It counts from the next request on." />
        </ApiForm>
      </Dialog>
    </>
  );
}

function RemoveMember({ member }: { readonly member: Member }) {
  async function remove(): Promise<void> {
    await parley.members.delete(member.id);
    await showChanged();
    toast(`${member.email} is no member any more.`);
  }
  return (
    <ConfirmButton label="Remove" title={`Remove ${member.email}?`} onConfirm={remove}>
      <p>
        Whatever is open in the console is closed with the next click. Who has a group with a role here may sign in
        again; keys that were made stay.
      </p>
    </ConfirmButton>
  );
}

function showChanged(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ["members"] });
}
