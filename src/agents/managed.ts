import type { AnySql } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { newId } from "../kernel/ids.ts";
import { createWorkspace } from "../workspaces/store.ts";
import { configDefaults } from "./schema.ts";
import { insertAgent } from "./store.ts";

/** The managed agent's first name. */
const managedAgentName = "Admin agent";

/**
 * Creates the platform-managed agent of a tenant that has none yet, and returns its
 * id. A tenant has at most one (docs/decisions/agents.md).
 */
export function createManagedAgent(sql: AnySql, tenantId: string): Promise<string> {
  return tx(sql, async (inner) => {
    const workspace = await createWorkspace(inner, tenantId, {}, "workspace");
    const agent = await insertAgent(
      inner,
      {
        id: newId("agent"),
        tenantId,
        userId: "",
        managed: true,
        workspaceId: workspace.id,
        config: { ...configDefaults, name: managedAgentName },
      },
      { actor: null, changeNote: null },
    );
    return agent.id;
  });
}
