/**
 * Builds the pages: `docs/` and what it leads to, as HTML with a search over all of it. Dead links fail it.
 * `npm install` and `npm run build:docs` run this, on Bun or Deno.
 */
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { encodings } from "../kernel/http/encoding.ts";
import { builtDocsFolder } from "./folders.ts";
import { makeSite } from "./site.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url).href);
const isText = /^\.(?:html|json|svg)$/;

/** Writes the pages into a folder, in place of what is there. Throws with every dead link. */
export async function buildDocs(folder: string, root = repository): Promise<number> {
  const { files, faults } = makeSite(root);
  if (faults.length > 0) throw new Error(`The pages were not built:\n${faults.join("\n")}`);
  const made = `${folder}.${process.pid}`;
  try {
    for (const [name, content] of files) {
      await mkdir(dirname(join(made, name)), { recursive: true });
      await writeFile(join(made, name), content);
      if (!isText.test(extname(name))) continue;
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      for (const { suffix, encode } of Object.values(encodings))
        await writeFile(join(made, name + suffix), await encode(bytes));
    }
    await rm(folder, { recursive: true, force: true });
    await rename(made, folder);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  return files.size;
}

if (import.meta.main) {
  const count = await buildDocs(builtDocsFolder);
  process.stdout.write(`dist/docs: ${count} files\n`);
}
