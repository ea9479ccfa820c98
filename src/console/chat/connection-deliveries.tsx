import type { ChatConnection, ChatDelivery } from "parley/client";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { ListView } from "../parts/list-view.tsx";
import { deliveryColumns } from "./delivery-columns.tsx";

/** How often the first page is read anew, in ms. */
const refreshMs = 5000;

/** What one connection delivered, the newest first. */
export function ConnectionDeliveries({ connection }: { readonly connection: ChatConnection }) {
  const { id: connectionId, agentId } = connection;
  const list = useCursorList<ChatDelivery>({
    key: ["chat-deliveries", connectionId],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.chatDeliveries.list(connectionId, query, { signal });
      return { rows: data, nextCursor };
    },
    refreshMs,
  });
  const columns = deliveryColumns<ChatDelivery>(
    () => agentId,
    () => connectionId,
  );
  return (
    <ListView
      list={list}
      caption="Deliveries, the newest first"
      columns={columns}
      rowKey={({ id }) => id}
      empty="Nothing was delivered yet."
    />
  );
}
