import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { parley } from "../api/client.ts";
import type { FormState } from "../parts/form.tsx";
import type { AgentForm } from "./agent-form.ts";

/** Which MCP connections' tools the agent has. */
export function ConnectionChoice({ form }: { readonly form: FormState<AgentForm> }) {
  const id = useId();
  const connections = useQuery({
    queryKey: ["mcp-connections", "all"],
    queryFn: ({ signal }) => parley.mcpConnections.list({}, { signal }),
  });
  const chosen = form.values.mcpConnectionIds;
  const known = connections.data?.mcpConnections ?? [];
  if (known.length === 0) return null;
  const toggle = (one: string, on: boolean) =>
    form.set("mcpConnectionIds", on ? [...chosen, one] : chosen.filter((each) => each !== one));
  return (
    <>
      {known.map(({ id: connectionId, name }) => (
        <div key={connectionId} className="field check">
          <input
            id={`${id}-${connectionId}`}
            type="checkbox"
            checked={chosen.includes(connectionId)}
            onChange={(event) => toggle(connectionId, event.target.checked)}
          />
          <label htmlFor={`${id}-${connectionId}`}>{name} (MCP)</label>
        </div>
      ))}
      {form.faults.mcpConnectionIds && (
        <p className="fault" role="alert">
          {form.faults.mcpConnectionIds}
        </p>
      )}
    </>
  );
}
