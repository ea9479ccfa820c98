import { programLimitsDefault } from "../../../src/kernel/sandbox-config.ts";
import { createLogger } from "../../../src/kernel/telemetry/log.ts";
import { openBubblewrap } from "../../../src/workspaces/bubblewrap/open.ts";

/** Runs its words as one command, as whichever user it is started by, and prints what came of it. */
const options = { limits: programLimitsDefault, places: 1, cacheMib: 1, hidden: [] };
const runtime = await openBubblewrap(options, createLogger("silent"));
const request = { tenantId: "t", workspaceId: "w", stdin: "", timeoutMs: 20_000, files: [], folders: [] };
const command = process.argv.slice(2).join(" ");
const signal = AbortSignal.timeout(60_000);
const { stdout, exitCode } = await runtime.run({ ...request, command }, { fetch: async () => [], signal });
process.stdout.write(`${JSON.stringify({ stdout, exitCode })}\n`);
await runtime.close();
process.exit(0);
