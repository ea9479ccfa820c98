/** Writes the generated part of the client anew: `npm run client`. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readConfig } from "../../kernel/config.ts";
import { openApiText } from "../../operator/openapi.ts";
import { generateClient } from "./generate.ts";

const folder = fileURLToPath(new URL("../generated/", import.meta.url));
const files = generateClient(JSON.parse(await openApiText(readConfig({}))));
for (const [name, text] of Object.entries(files)) writeFileSync(`${folder}${name}`, text);
execFileSync("npx", ["biome", "format", "--write", folder], { stdio: "inherit" });
process.exit(0);
