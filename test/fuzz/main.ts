/**
 * `npm run fuzz -- [--count n] [--seed n] [--path p]`: throws requests at the
 * service that are made from its OpenAPI document. A failure prints its seed and
 * path, which throw the same requests again.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "50000" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    path: { type: "string" },
  },
});
for (const name of ["count", "seed"] as const)
  if (!/^-?\d+$/.test(values[name])) throw new Error(`--${name} must be a whole number.`);

const env = {
  ...process.env,
  PARLEY_FUZZ_COUNT: values.count,
  PARLEY_FUZZ_SEED: values.seed,
  ...(values.path === undefined ? {} : { PARLEY_FUZZ_PATH: values.path }),
};
process.stdout.write(`fuzz: --count ${values.count} --seed ${values.seed}\n`);
const child = spawn(process.execPath, ["test/run.ts", "test/fuzz/fuzz.test.ts"], { stdio: "inherit", env });
child.on("close", (code) => process.exit(code ?? 1));
