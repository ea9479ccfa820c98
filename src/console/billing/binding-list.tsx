import type { MerchantBinding } from "parley/client";
import { useState } from "react";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import { queryClient } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ConfirmButton, Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/fields.tsx";
import { FilterBar, TextFilter } from "../parts/filter-bar.tsx";
import { ApiForm, useApiForm } from "../parts/form.tsx";
import { ListView } from "../parts/list-view.tsx";
import { Await, Empty } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { useMerchant } from "./use-merchant.ts";

/** Which customer of the provider each end user is. */
export function BindingList() {
  return (
    <Await query={useMerchant()}>
      {({ connection }) =>
        connection === null ? (
          <Empty>
            <p>
              End users are bound to customers of a billing provider. <Link href="/billing/provider">Connect one</Link>{" "}
              first.
            </p>
          </Empty>
        ) : (
          <Bindings key={connection.id} connectionId={connection.id} />
        )
      }
    </Await>
  );
}

function Bindings({ connectionId }: { readonly connectionId: string }) {
  const [{ userId }, setFilters] = useFilters("userId");
  const [editing, setEditing] = useState<MerchantBinding | "new" | null>(null);
  const list = useCursorList<MerchantBinding>({
    key: ["merchant-bindings", connectionId, userId],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...(userId && { userId }), ...(cursor && { cursor }) };
      const { bindings, nextCursor } = await parley.merchantBindings.list(query, { signal });
      return { rows: bindings, nextCursor };
    },
  });
  const columns: readonly Column<MerchantBinding>[] = [
    { name: "User", cell: (row) => row.userId },
    { name: "Customer", cell: ({ customerId }) => <code>{customerId}</code> },
    { name: "Changed", cell: ({ updatedAt }) => <When at={updatedAt} /> },
    {
      name: "",
      cell: (binding) => (
        <span className="row-actions">
          <Button onClick={() => setEditing(binding)}>Edit</Button>
          <DeleteBinding binding={binding} />
        </span>
      ),
    },
  ];
  return (
    <>
      <FilterBar>
        <TextFilter label="User" value={userId} onChange={(text) => setFilters({ userId: text })} />
        <Button onClick={() => setEditing("new")}>New binding</Button>
      </FilterBar>
      <ListView
        list={list}
        caption="Bindings"
        columns={columns}
        rowKey={(row) => row.userId}
        empty={userId ? "This user is bound to no customer." : "No end user is bound to a customer yet."}
      />
      <Dialog
        title={editing === "new" ? "New binding" : "Edit binding"}
        open={editing !== null}
        onOpenChange={() => setEditing(null)}
      >
        {editing !== null && (
          <BindingForm binding={editing === "new" ? null : editing} onDone={() => setEditing(null)} />
        )}
      </Dialog>
    </>
  );
}

function BindingForm({ binding, onDone }: { readonly binding: MerchantBinding | null; onDone(): void }) {
  const initial = { userId: binding?.userId ?? "", customerId: binding?.customerId ?? "" };
  const form = useApiForm(initial, async ({ userId, customerId }) => {
    await parley.merchantBindings.set(userId, { customerId: customerId.trim() });
    onDone();
    toast(`${userId} is bound.`);
    await queryClient.invalidateQueries({ queryKey: ["merchant-bindings"] });
  });
  return (
    <ApiForm
      form={form}
      action={binding === null ? "Create" : "Save"}
      disabled={!form.isChanged || form.values.userId === ""}
    >
      <TextField
        form={form}
        name="userId"
        label="User"
        disabled={binding !== null}
        hint="The id that you give to turns."
      />
      <TextField form={form} name="customerId" label="Customer" hint="The customer's id at the provider." />
    </ApiForm>
  );
}

function DeleteBinding({ binding: { userId, customerId } }: { readonly binding: MerchantBinding }) {
  async function remove(): Promise<void> {
    await parley.merchantBindings.delete(userId);
    await queryClient.invalidateQueries({ queryKey: ["merchant-bindings"] });
    toast(`${userId} is bound to nobody.`);
  }
  return (
    <ConfirmButton label="Delete" title="Delete this binding?" onConfirm={remove}>
      <p>
        What {userId} uses is reported for {customerId} no more: it waits as unmapped.
      </p>
    </ConfirmButton>
  );
}
