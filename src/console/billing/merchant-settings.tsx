import type { MerchantConnection } from "parley/client";
import { useState } from "react";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton, Dialog } from "../parts/dialog.tsx";
import { CheckField, SelectField, TextAreaField, TextField } from "../parts/fields.tsx";
import { ApiForm, type FormState, useApiForm } from "../parts/form.tsx";
import { Facts, Section } from "../parts/page.tsx";
import { Await } from "../parts/states.tsx";
import { toast, toastError } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import {
  environmentChoices,
  formOfGuard,
  type GuardForm,
  guardOfForm,
  merchantChoices,
  merchantText,
} from "./billing-words.ts";
import { useMerchant } from "./use-merchant.ts";

/** Shows the connection as an action left it. */
async function take(connection: MerchantConnection | null): Promise<void> {
  queryClient.setQueryData(["merchant-connection"], { connection });
  await queryClient.invalidateQueries({ queryKey: ["merchant-events"] });
}

/** The billing provider: connecting one, its credential, its status, and what the guard asks for. */
export function MerchantSettings() {
  return (
    <Await query={useMerchant()}>
      {({ connection }) =>
        connection === null ? (
          <Section title="Connect a provider">
            <ConnectForm onDone={() => {}} />
          </Section>
        ) : (
          <Connected connection={connection} />
        )
      }
    </Await>
  );
}

function Connected({ connection }: { readonly connection: MerchantConnection }) {
  const [replacing, setReplacing] = useState(false);
  return (
    <>
      <Section
        title={merchantText(connection.provider)}
        actions={
          <>
            <StatusButton connection={connection} />
            <Button onClick={() => setReplacing(true)}>Replace</Button>
            <DeleteMerchant connection={connection} />
          </>
        }
      >
        <Facts
          facts={{
            Status: <StatusBadge status={connection.status} />,
            Environment: connection.environment,
            Account: <CopyableId id={connection.merchantAccountId} />,
            Credential: <code>…{connection.keyFragment}</code>,
            Id: <CopyableId id={connection.id} />,
            Connected: <When at={connection.createdAt} />,
          }}
        />
      </Section>
      <Section title="Guard">
        <GuardSettings key={connection.configVersion} connection={connection} />
      </Section>
      <Section title="Credential">
        <CredentialSettings />
      </Section>
      <Dialog title="Replace the provider" open={replacing} onOpenChange={setReplacing}>
        <p>Bindings belong to a connection: those of this one are not taken over. Its events are still sent with it.</p>
        <ConnectForm onDone={() => setReplacing(false)} />
      </Dialog>
    </>
  );
}

function ConnectForm({ onDone }: { onDone(): void }) {
  const empty = {
    ...{ provider: "polar", environment: "sandbox", credential: "" },
    ...formOfGuard({ enabled: false, productIds: [], meterId: null }),
  };
  const form = useApiForm(empty, async (values) => {
    const provider = values.provider === "stripe" ? "stripe" : "polar";
    const environment = values.environment === "live" ? "live" : "sandbox";
    const credential = values.credential.trim();
    const made = await parley.merchantConnection.create({
      provider,
      environment,
      credential,
      guard: guardOfForm(values),
    });
    onDone();
    toast(`${merchantText(made.connection.provider)} is connected.`);
    await take(made.connection);
  });
  return (
    <ApiForm form={form} action="Create">
      <SelectField form={form} name="provider" label="Provider" options={merchantChoices} />
      <SelectField form={form} name="environment" label="Environment" options={environmentChoices} />
      <TextField
        form={form}
        name="credential"
        label={form.values.provider === "stripe" ? "Secret key" : "Access token"}
        masked
        hint="It is stored sealed, and never shown again."
      />
      <fieldset>
        <legend>Guard</legend>
        <GuardFields form={form as unknown as FormState<GuardForm>} />
      </fieldset>
    </ApiForm>
  );
}

function GuardFields({ form }: { readonly form: FormState<GuardForm> }) {
  return (
    <>
      <CheckField
        form={form}
        name="guard.enabled"
        label="Refuse turns of end users who have not paid"
        hint="They need an active subscription to one of the products, or a balance on the meter; both where both are given."
      />
      <TextAreaField form={form} name="guard.productIds" label="Products" rows={2} code hint="Ids, one a line." />
      <TextField form={form} name="guard.meterId" label="Meter" hint="The id of a meter with a balance." />
    </>
  );
}

function GuardSettings({ connection }: { readonly connection: MerchantConnection }) {
  const form = useApiForm<GuardForm>(formOfGuard(connection.guard), async (values) => {
    const saved = await parley.merchantConnection.update({ guard: guardOfForm(values) });
    await take(saved.connection);
    toast("The guard is saved.");
  });
  return (
    <ApiForm form={form} action="Save" disabled={!form.isChanged}>
      <GuardFields form={form} />
    </ApiForm>
  );
}

function CredentialSettings() {
  const form = useApiForm({ credential: "" }, async ({ credential }) => {
    const saved = await parley.merchantConnection.update({ credential: credential.trim() });
    await take(saved.connection);
    form.reset({ credential: "" });
    toast("The credential is replaced.");
  });
  return (
    <ApiForm form={form} action="Replace credential" disabled={form.values.credential.trim() === ""}>
      <TextField
        form={form}
        name="credential"
        label="New credential"
        masked
        hint="Of the same account. It is stored sealed, and never shown again."
      />
    </ApiForm>
  );
}

function StatusButton({ connection: { status, provider } }: { readonly connection: MerchantConnection }) {
  const name = merchantText(provider);
  async function change(next: "active" | "disconnected"): Promise<void> {
    await take((await parley.merchantConnection.update({ status: next })).connection);
    toast(next === "active" ? `${name} is connected again.` : `${name} is disconnected.`);
  }
  if (status === "disconnected") return <Button onClick={() => void change("active").catch(toastError)}>Enable</Button>;
  return (
    <ConfirmButton label="Disable" title={`Disconnect ${name}?`} tone="plain" onConfirm={() => change("disconnected")}>
      <p>
        Usage that is due meanwhile fails, and can be retried once it is enabled again. While the guard is on, turns of
        end users are refused.
      </p>
    </ConfirmButton>
  );
}

function DeleteMerchant({ connection: { provider } }: { readonly connection: MerchantConnection }) {
  const name = merchantText(provider);
  async function remove(): Promise<void> {
    await parley.merchantConnection.delete();
    await take(null);
    toast(`${name} is deleted.`);
  }
  return (
    <ConfirmButton label="Delete" title={`Delete the connection to ${name}?`} onConfirm={remove}>
      <p>Its bindings go with it, and new usage is not reported any more. Events that wait can still be sent.</p>
    </ConfirmButton>
  );
}
