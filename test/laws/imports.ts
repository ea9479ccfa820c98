import { dirname } from "node:path";
import { importsOf, type Source } from "../harness/sources.ts";
import { file, type Law, product } from "./law.ts";

/** Roles that run a worker pool. */
const poolRoles = ["src/roles/start.ts", "src/roles/work.ts"];
const isKernel = (path: string) => path.startsWith("src/kernel/");
const isRoutes = (path: string) => /(^|[/-])routes\.ts$/.test(path);

/** The kernel knows no slice. */
export const kernelImportsKernel: Law = {
  title: "the kernel imports the kernel only",
  violations: (sources) =>
    forbidden(sources, (from, target) => isKernel(from) && !isKernel(target) && /^(src|workers)\//.test(target)),
  broken: [[file("src/kernel/a.ts", 'import type { Agent } from "../agents/store.ts";')]],
};

/** What is behind a route is reached by the slice's functions. */
export const routesBelongToTheirSlice: Law = {
  title: "a routes file is imported by app.ts and by routes of its own slice only",
  violations: (sources) =>
    forbidden(
      sources,
      (from, target) =>
        isRoutes(target) && from !== "src/app.ts" && !(isRoutes(from) && dirname(from) === dirname(target)),
    ),
  broken: [
    [file("src/chat/a.ts", 'import { routes } from "../agents/routes.ts";')],
    [file("src/chat/routes.ts", 'import { routes } from "../agents/library-routes.ts";')],
  ],
};

/** Slices add jobs; who runs them is decided by the process's role. */
export const workersBelongToRoles: Law = {
  title: "workers/ is imported by the roles that run a pool only",
  violations: (sources) =>
    forbidden(
      sources,
      (from, target) => target.startsWith("workers/") && !from.startsWith("workers/") && !poolRoles.includes(from),
    ),
  broken: [[file("src/chat/a.ts", 'import { pool } from "../../workers/main.ts";')]],
};

/** The queue's library runs jobs in `workers/`; others only add them. */
export const queueRunsInWorkers: Law = {
  title: "only workers/ imports the queue's runner",
  violations: (sources) =>
    product(sources).flatMap(({ path, text }) =>
      path.startsWith("workers/")
        ? []
        : [...text.matchAll(/import\s*\{([^}]*)\}\s*from\s*"graphile-worker"/g)]
            .flatMap((match) => (match[1] as string).match(/\brun(Once|TaskList\w*)?\b/g) ?? [])
            .map((name) => `${path} → ${name}`),
    ),
  broken: [[file("src/chat/a.ts", 'import { run } from "graphile-worker";')]],
};

/** Files that name the queue's tables although they are not of the queue; none is to be added. */
const namesQueueTables = new Set([
  "src/installation/discard-job.ts",
  "src/kernel/database/migrate.ts",
  "src/sessions/state/turn-job.ts",
  "src/tasks/purge.ts",
  "src/tasks/recover.ts",
  "workers/queue.ts",
]);

/** What the queue's library keeps in its tables may change with each version of it. */
export const queueTablesStayBehindTheQueue: Law = {
  title: "only src/kernel/queue/ names the queue's tables and functions",
  violations: (sources) =>
    product(sources)
      .filter(({ path }) => !path.startsWith("src/kernel/queue/") && !namesQueueTables.has(path))
      .filter(({ text }) => /\bgraphile_worker\./.test(text))
      .map(({ path }) => path),
  broken: [[file("src/chat/a.ts", "sql`select graphile_worker.add_job('a')`;")]],
};

/** Where the shapes are that the console's two sides have in common. */
const shapes = "src/console-shapes/";

/** What runs in the browser holds nothing of the service, whose code is neither small nor for everybody's eyes. */
export const consoleImportsNoService: Law = {
  title: "the console's pages import the client and the shapes only",
  violations: (sources) =>
    forbidden(
      sources,
      (from, target) =>
        from.startsWith("src/console/") &&
        !["src/console/", "src/client/", shapes].some((folder) => target.startsWith(folder)),
    ),
  broken: [[file("src/console/a.ts", 'import type { Page } from "../kernel/http/page.ts";')]],
};

/** A shape is what both sides agree on: with an import or a value in it, one side would have code of the other. */
export const shapesAreTypes: Law = {
  title: "src/console-shapes/ has types only, for the console's two sides",
  violations: (sources) => [
    ...forbidden(
      sources,
      (from, target) =>
        (from.startsWith(shapes) && !target.startsWith(shapes)) ||
        (target.startsWith(shapes) && !/^src\/console(-server|-shapes)?\//.test(from)),
    ),
    ...product(sources)
      .filter(
        ({ path, text }) => path.startsWith(shapes) && /^(?:export )?(?:const|let|function|class|enum)\b/m.test(text),
      )
      .map(({ path }) => `${path} has a value`),
  ],
  broken: [
    [file(`${shapes}a.ts`, 'import type { Sql } from "../kernel/database/client.ts";')],
    [file("src/agents/a.ts", 'import type { AgentMark } from "../console-shapes/marks.ts";')],
    [file(`${shapes}a.ts`, "export const partsMax = 60;")],
  ],
};

/** Each forbidden import of the product as `file → what it imports`. */
function forbidden(sources: readonly Source[], isForbidden: (from: string, target: string) => boolean): string[] {
  return product(sources).flatMap((source) =>
    importsOf(source)
      .filter((target) => isForbidden(source.path, target))
      .map((target) => `${source.path} → ${target}`),
  );
}
