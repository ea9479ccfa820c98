/** Returns a rule for the references of a schema: each has to lead to a part of it, because nothing is fetched. */
export function refsWithin(root: unknown): (ref: unknown) => string | null {
  return (ref) =>
    typeof ref === "string" && resolved(root, ref) !== undefined
      ? null
      : "must lead to a part of this schema, as #/$defs/name does; nothing is fetched";
}

/** Returns the subschema that a reference within a schema names; undefined for any other reference. */
export function resolved(root: unknown, ref: string): unknown {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let found: unknown = root;
  for (const step of ref.slice(2).split("/")) {
    const name = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
