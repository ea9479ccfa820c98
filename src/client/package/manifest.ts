/** The `package.json` of the client as programs elsewhere install it. */

/** The package's name. It has a scope, because the bare `parley` is somebody else's on npm. */
export const clientPackage = "@parley-runtime/client";

/** What is taken from the repository's own `package.json`. */
export interface RepositoryManifest {
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** The manifest of the package, whose files stand beside it as `npm run build:client` writes them. */
export function clientManifest(repository: RepositoryManifest): Record<string, unknown> {
  const entry = (name: string) => ({ types: `./${name}.d.ts`, default: `./${name}.js` });
  return {
    name: clientPackage,
    version: repository.version,
    description: "The client of Parley, a multi-tenant agent runtime: for Node, Bun, Deno and browsers.",
    license: repository.license,
    type: "module",
    sideEffects: false,
    exports: { ".": entry("client"), "./use-chat": entry("use-chat") },
    // AbortSignal.any, and `fetch` with web streams.
    engines: { node: ">=20.3" },
    // Only `use-chat` imports it, and a page with the hook has it: so it is neither installed along nor asked for.
    peerDependencies: { ai: `^${majorOf(repository.dependencies.ai)}` },
    peerDependenciesMeta: { ai: { optional: true } },
  };
}

/** The major version that an exact version begins with. */
function majorOf(version = ""): string {
  const [major] = /^\d+/.exec(version) ?? [];
  if (major === undefined) throw new Error(`The version of "ai" is not exact: "${version}"`);
  return major;
}
