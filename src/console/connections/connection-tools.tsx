import type { McpConnectionTest } from "parley/client";
import { useState } from "react";
import { parley } from "../api/client.ts";
import { errorText, queryClient } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import { Button } from "../parts/button.tsx";
import { countText } from "../parts/moment.ts";
import { Empty } from "../parts/states.tsx";

/** Asks the server whether it can be used, and shows the tools that it has. */
export function ConnectionTools({ connectionId }: { readonly connectionId: string }) {
  const mayTest = useMay("editor");
  const [result, setResult] = useState<McpConnectionTest | null>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  async function test(): Promise<void> {
    setBusy(true);
    setFault(null);
    setResult(null);
    try {
      setResult(await parley.mcpConnections.test(connectionId));
    } catch (error) {
      setFault(errorText(error));
    } finally {
      setBusy(false);
    }
    await queryClient.invalidateQueries({ queryKey: ["mcp-connection", connectionId] });
    await queryClient.invalidateQueries({ queryKey: ["mcp-connections"] });
  }
  return (
    <div className="connection-tools" aria-busy={busy}>
      {mayTest && (
        <p>
          <Button disabled={busy} onClick={() => void test()}>
            Test
          </Button>
        </p>
      )}
      <div role="status">
        {busy && <p className="faint">Asking the server…</p>}
        {result?.ok === true && <Found result={result} />}
        {result === null && !busy && fault === null && (
          <p className="faint">A test asks the server for its tools, and sets the status.</p>
        )}
      </div>
      {result?.ok === false && <p role="alert">{result.error.message}</p>}
      {fault !== null && <p role="alert">{fault}</p>}
    </div>
  );
}

function Found({ result }: { readonly result: Extract<McpConnectionTest, { ok: true }> }) {
  const { server, latencyMs, toolCount, toolNames, leftOut } = result;
  return (
    <>
      <p>
        {server.name} {server.version} answered in {countText(latencyMs)} ms and has {countText(toolCount)}{" "}
        {toolCount === 1 ? "tool" : "tools"}.
      </p>
      {toolNames.length === 0 ? (
        <Empty>The server has no tool.</Empty>
      ) : (
        <ul className="models" aria-label="Tools found">
          {toolNames.map((name) => (
            <li key={name}>
              <code>{name}</code>
            </li>
          ))}
        </ul>
      )}
      {leftOut.length > 0 && (
        <>
          <p>Tools that cannot be used:</p>
          <ul aria-label="Tools left out">
            {leftOut.map(({ name, reason }) => (
              <li key={`${name} ${reason}`}>
                <code>{name}</code>: {reason}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
