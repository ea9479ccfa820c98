import { importsOf, type Source } from "../harness/sources.ts";
import { file, type Law, product } from "./law.ts";

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** No file reaches itself through what it imports. */
export const noCircleOfFiles: Law = {
  title: "no circle of files, types included",
  violations: (sources) => circlesOf(graphOf(product(sources), (path) => path)),
  broken: [
    [file("src/a.ts", 'import type { B } from "./b.ts";'), file("src/b.ts", 'import type { A } from "./a.ts";')],
    [
      file("workers/a.ts", 'import { b } from "./b.ts";'),
      file("workers/b.ts", 'export { c } from "./c.ts";'),
      file("workers/c.ts", 'const a = await import("./a.ts");'),
    ],
  ],
};

/**
 * No two children of one folder reach each other. At the top the children of
 * `src/` and the folder `workers/` stand side by side, so that a role may start
 * the workers, and they call the slices.
 */
export const noCircleOfFolders: Law = {
  title: "no circle between the children of a folder, types included",
  violations: (sources) => {
    const files = product(sources);
    const inner = [...new Set(files.flatMap(({ path }) => foldersOf(path)))].filter((folder) => folder !== "src");
    return [
      ...circlesOf(graphOf(files, atTheTop)),
      ...inner.flatMap((folder) =>
        circlesOf(
          graphOf(
            files.filter(({ path }) => path.startsWith(`${folder}/`)),
            (path) => childOf(folder, path),
          ),
        ),
      ),
    ];
  },
  broken: [
    [
      file("src/roles/a.ts", 'import { b } from "../../workers/b.ts";'),
      file("workers/b.ts", 'import { c } from "../src/roles/c.ts";'),
      file("src/roles/c.ts"),
    ],
    [
      file("src/s/one/a.ts", 'import type { B } from "../two/b.ts";'),
      file("src/s/two/b.ts"),
      file("src/s/two/c.ts", 'import type { D } from "../one/d.ts";'),
      file("src/s/one/d.ts"),
    ],
  ],
};

/** The child of `src/` that a file is in, or the folder at the root. */
function atTheTop(path: string): string {
  return path.startsWith("src/") ? childOf("src", path) : childOf("", path);
}

/** The file or folder right below a folder that a path is in. */
function childOf(folder: string, path: string): string {
  const depth = folder === "" ? 1 : folder.split("/").length + 1;
  return path.split("/").slice(0, depth).join("/");
}

/** The folders above a file. */
function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Who imports whom, among these files, each file counted as the node that it belongs to. */
function graphOf(files: readonly Source[], nodeOf: (path: string) => string): Graph {
  const known = new Set(files.map(({ path }) => path));
  const graph = new Map<string, Set<string>>();
  for (const source of files) {
    const node = nodeOf(source.path);
    const targets = graph.get(node) ?? new Set();
    graph.set(node, targets);
    for (const target of importsOf(source))
      if (known.has(target) && (nodeOf(target) !== node || target === source.path)) targets.add(nodeOf(target));
  }
  return graph;
}

/** Groups of nodes that reach one another, each in words. */
function circlesOf(graph: Graph): string[] {
  const reached = new Map([...graph.keys()].map((node) => [node, reachedFrom(graph, node)]));
  const groups = [...graph.keys()]
    .filter((node) => reached.get(node)?.has(node))
    .map((node) => [...graph.keys()].filter((other) => reached.get(node)?.has(other) && reached.get(other)?.has(node)));
  return [...new Set(groups.map((group) => group.sort().join(" ↔ ")))];
}

function reachedFrom(graph: Graph, from: string): Set<string> {
  const reached = new Set<string>();
  const left = [...(graph.get(from) ?? [])];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (reached.has(node)) continue;
    reached.add(node);
    left.push(...(graph.get(node) ?? []));
  }
  return reached;
}
