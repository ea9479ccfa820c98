import { type AnySql, tx } from "../kernel/database/client.ts";
import { newId } from "../kernel/ids.ts";
import { createOwnWorkspace } from "./references.ts";
import { configDefaults } from "./schema.ts";
import { insertAgent } from "./store.ts";

/** The name that the managed agent is born with. */
const managedAgentName = "Admin agent";

/**
 * Makes the platform-managed agent of a tenant that has none yet (design section
 * 3, "Managed agent") and answers its id. A tenant has at most one.
 */
export function createManagedAgent(sql: AnySql, tenantId: string): Promise<string> {
  return tx(sql, async (inner) => {
    const workspaceId = newId("workspace");
    await createOwnWorkspace(inner, tenantId, workspaceId, "");
    const agent = await insertAgent(inner, {
      id: newId("agent"),
      tenantId,
      userId: "",
      managed: true,
      workspaceId,
      config: { ...configDefaults, name: managedAgentName },
    });
    return agent.id;
  });
}
