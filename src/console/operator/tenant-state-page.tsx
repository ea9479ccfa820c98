import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { EndedCounts, TenantState } from "../../console-shapes/operator.ts";
import { readConsole, sendConsole } from "../api/fetch.ts";
import { queryClient } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import { CopyableId } from "../parts/copyable-id.tsx";
import { ConfirmButton, Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/fields.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { Facts, PageFrame, Section } from "../parts/page.tsx";
import { ShownOnce } from "../parts/shown-once.tsx";
import { Await } from "../parts/states.tsx";
import { toast, toastError } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { changedLimits, endedText, formOfLimits, storedText } from "./limit-form.ts";
import { TenantStatus } from "./tenant-list.tsx";

/** How often a tenant is read anew, in ms. */
const refreshMs = 2000;
const keyOf = (tenantId: string) => ["operator", "tenant", tenantId];
const pathOf = (tenantId: string) => `/console/api/operator/tenants/${encodeURIComponent(tenantId)}`;

/** Shows what an action responded with, and reads the lists again when they are next shown. */
async function take(tenant: TenantState): Promise<void> {
  queryClient.setQueryData(keyOf(tenant.tenantId), tenant);
  await queryClient.invalidateQueries({ queryKey: ["operator"] });
}

/** One tenant: what it has in the queue, its limits, and what an operator can do about it. */
export function TenantStatePage({ tenantId }: { readonly tenantId: string }) {
  const query = useQuery({
    queryKey: keyOf(tenantId),
    queryFn: ({ signal }) => readConsole<TenantState>(pathOf(tenantId), { signal }),
    refetchInterval: refreshMs,
  });
  const tenant = query.data;
  return (
    <PageFrame
      title={tenant?.name || "Tenant"}
      parent={{ title: "Tenants", to: "/operator/tenants" }}
      mark={tenant && <TenantStatus tenant={tenant} />}
      actions={tenant && <TenantActions tenant={tenant} />}
    >
      <Await query={query}>
        {(known) => (
          <>
            <Facts
              facts={{
                Id: <CopyableId id={known.tenantId} />,
                Interface: `form ${known.form.toUpperCase()}`,
                Created: <When at={known.createdAt} />,
                "Turns wait for people at most": durationText(known.pauseHours * 3_600_000),
                "Sessions are kept": known.retentionDays === null ? "for ever" : `${known.retentionDays} days`,
                Monetization: known.monetization ? "on" : "off",
              }}
            />
            <Section title="Turns now">
              <Facts
                facts={{
                  Queued: countText(known.load.queued),
                  Oldest: known.load.queued === 0 ? null : durationText(known.load.oldestSeconds * 1000),
                  Parked: countText(known.load.parked),
                  Running: countText(known.load.running),
                  "Waiting for a person": countText(known.load.waiting),
                }}
              />
            </Section>
            <Section title="Limits">
              <LimitSettings tenant={known} />
            </Section>
          </>
        )}
      </Await>
    </PageFrame>
  );
}

/** The limits as they were when the page was opened, or saved last: what is read anew changes no field under a person's hands. */
function LimitSettings({ tenant }: { readonly tenant: TenantState }) {
  const [base, setBase] = useState(tenant);
  const form = useApiForm(formOfLimits(base), async (values) => {
    const saved = await sendConsole<TenantState>("PATCH", pathOf(tenant.tenantId), changedLimits(values, base));
    await take(saved);
    setBase(saved);
    form.reset(formOfLimits(saved));
    toast("The limits are saved.");
  });
  const isChanged = Object.keys(changedLimits(form.values, base)).length > 0;
  const beside = isChanged && <Button onClick={() => form.reset(formOfLimits(tenant))}>Discard changes</Button>;
  return (
    <ApiForm form={form} action="Save" disabled={!isChanged} beside={beside}>
      <TextField form={form} name="weight" label="Weight" hint="Its share of the slots, 1 to 100." />
      <TextField
        form={form}
        name="runningTurns"
        label="Running turns"
        hint="At once, over all workers. Empty: no limit."
      />
      <TextField
        form={form}
        name="queuedTurns"
        label="Queued turns"
        hint="Accepted and not yet running. Empty: no limit."
      />
      <TextField form={form} name="storedMib" label="Stored MiB" hint={storedText(tenant.storedBytes)} />
      <TextField form={form} name="quotaTurnsPerDay" label="Turns a day" hint="Empty: no limit." />
      <TextField form={form} name="rateLimit" label="Requests a second" hint="Empty: no limit." />
      <TextField
        form={form}
        name="usageCredit"
        label="Usage credit"
        hint="Tokens that it may still use. Empty: no limit."
      />
    </ApiForm>
  );
}

/** Makes a key for a tenant, and shows it: the service never does again. */
function NewKey({ path, onDone }: { readonly path: string; onDone(): void }) {
  const [token, setToken] = useState<string | null>(null);
  const form = useApiForm({ name: "" }, async ({ name }) => {
    const made = await sendConsole<{ token: string }>("POST", `${path}/keys`, { name: name.trim() });
    setToken(made.token);
  });
  if (token !== null)
    return (
      <ShownOnce secret={token} onDone={onDone}>
        Copy the API key now. It is not shown again.
      </ShownOnce>
    );
  return (
    <ApiForm form={form} action="Create" disabled={form.values.name.trim() === ""}>
      <TextField form={form} name="name" label="Name" hint="It may do everything in this tenant." />
    </ApiForm>
  );
}

function TenantActions({ tenant }: { readonly tenant: TenantState }) {
  const [makingKey, setMakingKey] = useState(false);
  const path = pathOf(tenant.tenantId);
  const name = tenant.name || tenant.tenantId;
  async function suspend(): Promise<void> {
    await take(await sendConsole<TenantState>("POST", `${path}/suspend`));
    toast(`${name} is suspended.`);
  }
  async function resume(): Promise<void> {
    await take(await sendConsole<TenantState>("POST", `${path}/resume`));
    toast(`${name} may work again.`);
  }
  async function end(): Promise<void> {
    const ended = await sendConsole<EndedCounts>("POST", `${path}/end-turns`);
    await queryClient.invalidateQueries({ queryKey: ["operator"] });
    toast(endedText(ended));
  }
  return (
    <>
      {tenant.status === "active" && <Button onClick={() => setMakingKey(true)}>New key</Button>}
      <Dialog title={`New key for ${name}`} open={makingKey} onOpenChange={setMakingKey}>
        <NewKey path={path} onDone={() => setMakingKey(false)} />
      </Dialog>
      {tenant.suspended ? (
        <Button onClick={() => void resume().catch(toastError)}>Resume</Button>
      ) : (
        <ConfirmButton label="Suspend" title={`Suspend ${name}?`} tone="plain" onConfirm={suspend}>
          <p>
            All its requests are refused with 402 until it is resumed, and it begins no turn. Turns that run now go on.
          </p>
        </ConfirmButton>
      )}
      <ConfirmButton label="End turns" title={`End all turns of ${name}?`} onConfirm={end}>
        <p>
          Everything that it has queued, running or waiting for a person ends now, as canceled. This cannot be undone.
        </p>
      </ConfirmButton>
    </>
  );
}
