import { file, type Law, product } from "./law.ts";

const declared =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type|enum) ([\w$]+)/gm;

/**
 * One name means one thing. A constant and the type derived from it may share
 * their name, in one file. The generated part of the client names what the
 * interface names, and the service has those names too.
 */
export const namesAreUnique: Law = {
  title: "a name is exported by one file",
  violations: (sources) => {
    const files = new Map<string, Set<string>>();
    for (const { path, text } of product(sources).filter(({ path }) => !path.startsWith("src/client/generated/")))
      for (const [, name = ""] of text.matchAll(declared)) files.set(name, (files.get(name) ?? new Set()).add(path));
    return [...files]
      .filter(([, paths]) => paths.size > 1)
      .map(([name, paths]) => `${name}: ${[...paths].sort().join(", ")}`);
  },
  broken: [[file("src/a/a.ts", "export interface Row {}"), file("workers/b.ts", "export async function Row() {}")]],
};
