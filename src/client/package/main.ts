/** Packs the client for programs elsewhere: `npm run pack:client [-- folder]` writes a `.tgz` (by default in `dist/`). */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { clientManifest } from "./manifest.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const target = resolve(process.argv[2] ?? join(root, "dist"));
const folder = join(target, "client-package");

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const tsc = join(root, "node_modules/.bin/tsc");
execFileSync(tsc, ["-p", join(root, "src/client/tsconfig.build.json"), "--outDir", folder], { stdio: "inherit" });
const manifest = clientManifest(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
copyFileSync(join(root, "src/client/package/README.md"), join(folder, "README.md"));
const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", target], {
  cwd: folder,
  encoding: "utf8",
});
rmSync(folder, { recursive: true });
process.stdout.write(`${join(target, packed.trim())}\n`);
