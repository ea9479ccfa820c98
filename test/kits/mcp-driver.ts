/**
 * The "client" that the conformance kit of MCP starts for each scenario: it hands the
 * address of the kit's server over to the process that runs the service
 * (`mcp-conformance.kit.ts`), and waits until that is done with it.
 */
const serverUrl = process.argv.at(-1) as string;
const { MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_CONTEXT, PARLEY_KIT_URL } = process.env;
const context = JSON.parse(MCP_CONFORMANCE_CONTEXT ?? "{}");
const body = JSON.stringify({ serverUrl, scenario: MCP_CONFORMANCE_SCENARIO, context });
const response = await fetch(PARLEY_KIT_URL as string, { method: "POST", body });
process.stdout.write(`${await response.text()}\n`);
process.exit(response.ok ? 0 : 1);

export {};
