/** An OpenAPI document as far as tests look into it. */
interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

/** The document with each reference to a component replaced by the component. */
export function dereference<T extends Document>(document: T): T {
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== "object" || value === null) return value;
    const { $ref } = value as { $ref?: unknown };
    if (typeof $ref === "string") return resolve(document.components.schemas[$ref.split("/").at(-1) ?? ""]);
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolve(one)]));
  };
  return resolve(document) as T;
}
