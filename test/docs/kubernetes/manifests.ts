import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { Ajv } from "ajv";
import { parseAllDocuments } from "yaml";
import { inRepository } from "../../harness/repository.ts";

/** A document of YAML below `docs/kubernetes/`. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  // biome-ignore lint/suspicious/noExplicitAny: the shape is the schema's, which has been checked before.
  readonly spec: any;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly data?: Readonly<Record<string, string>>;
}

const folder = inRepository("docs/kubernetes");

/** The YAML files, from the repository's folder of manifests. */
export const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".yaml"))
  .sort();

/** What kustomize and Helm read, and no cluster is given. */
const notForClusters = ["kustomization.yaml", "prometheus-adapter.yaml"];
export const manifestFiles = files.filter((name) => !notForClusters.includes(basename(name)));

/** The documents of a file. Throws where it is no YAML, or has an alias or a key that YAML 1.2 refuses. */
export function documentsOf(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    const [fault] = [...document.errors, ...document.warnings];
    if (fault !== undefined) throw fault;
    return document.toJS() as Manifest;
  });
}

export const readDocuments = (name: string) => documentsOf(readFileSync(`${folder}/${name}`, "utf8"));

const { kinds, $defs } = JSON.parse(readFileSync(inRepository("test/docs/kubernetes/schemas.json"), "utf8")) as {
  kinds: Record<string, string>;
  $defs: Record<string, object>;
};
const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false });

/** What the API of Kubernetes would refuse of a manifest, a line each. */
export function faultsOf({ apiVersion, kind, metadata, ...rest }: Manifest): string[] {
  const name = kinds[`${apiVersion}/${kind}`];
  if (name === undefined) return [`${apiVersion} ${kind} is unknown`];
  const check = ajv.getSchema(name) ?? ajv.compile({ $id: name, $defs, $ref: `#/$defs/${name}` });
  if (check({ apiVersion, kind, metadata, ...rest })) return [];
  return (check.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${kind} ${metadata?.name}${instancePath}: ${message} ${JSON.stringify(params)}`,
  );
}

/** A program that puts overlays together; null where there is none. */
export const kustomize = [
  ["kustomize", "build"],
  ["kubectl", "kustomize"],
].find(([program = ""]) => Bun.which(program) !== null);

/** The manifests of an overlay, as they are given to a cluster. Throws with what kustomize says. */
export function build(overlay: string): Manifest[] {
  const [program = "", ...words] = kustomize ?? [];
  const { status, stdout, stderr } = spawnSync(program, [...words, `${folder}/overlays/${overlay}`], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return documentsOf(stdout);
}

export const overlays = readdirSync(`${folder}/overlays`);

/** A container of ours, with the pod's own specification. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export type Container = any;

/** The containers of Parley in these manifests, each with its manifest. */
export function containersOf(manifests: readonly Manifest[]): { manifest: Manifest; container: Container }[] {
  return manifests.flatMap((manifest) => {
    const containers: Container[] = manifest.spec?.template?.spec?.containers ?? [];
    return containers
      .filter(({ image }) => /(^|\/)parley(:|$)/.test(image))
      .map((container) => ({ manifest, container }));
  });
}
