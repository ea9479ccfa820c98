import type { ChatConnection } from "parley/client";
import { queryClient } from "../api/queries.ts";

/** Shows a chat connection as an action left it, and reads the lists again when they are next shown. */
export async function showChanged(connection: ChatConnection): Promise<void> {
  queryClient.setQueryData(["chat-connection", connection.id], connection);
  await queryClient.invalidateQueries({ queryKey: ["chat-connections"] });
}
