/** Runs the simulated model alone: `--hostname`, `--port`, `--api-key` and `--chunk-delay-ms` set what their names say. */
import { parseArgs } from "node:util";
import { startSimulatedModel } from "./server.ts";

const { values } = parseArgs({
  options: {
    hostname: { type: "string", default: "127.0.0.1" },
    port: { type: "string", default: "9100" },
    "api-key": { type: "string" },
    "chunk-delay-ms": { type: "string", default: "30" },
  },
});

const model = startSimulatedModel({
  hostname: values.hostname,
  port: wholeNumber("port", values.port),
  chunkDelayMs: wholeNumber("chunk-delay-ms", values["chunk-delay-ms"]),
  ...(values["api-key"] !== undefined && { apiKey: values["api-key"] }),
});
process.stdout.write(`${model.url}\n`);

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void model.stop().then(() => process.exit(0)));

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  process.stderr.write(`--${name} takes a whole number, not ${JSON.stringify(text)}.\n`);
  process.exit(2);
}
