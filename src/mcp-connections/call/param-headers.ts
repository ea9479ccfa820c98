/** The key by which a property of a tool's input names the header that repeats it (revision 2026-07-28). */
const headerKey = "x-mcp-header";
/** A token of RFC 9110. */
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const headerTypes = new Set<unknown>(["string", "integer", "boolean"]);

/**
 * Returns whether all headers that a tool's input schema names are as the protocol allows:
 * tokens, each once, of texts, whole numbers and booleans, on properties that are reached
 * by `properties` alone. Tools with others must not be offered. Stops at the first fault.
 */
export function hasValidHeaders(inputSchema: unknown): boolean {
  const names = new Set<string>();
  const isValid = (name: unknown, type: unknown) => {
    if (typeof name !== "string" || !headerName.test(name) || !headerTypes.has(type)) return false;
    const isNew = !names.has(name.toLowerCase());
    names.add(name.toLowerCase());
    return isNew;
  };
  const waiting: { readonly node: unknown; readonly isProperty: boolean; readonly isOnPath: boolean }[] = [
    { node: inputSchema, isProperty: false, isOnPath: true },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, isProperty, isOnPath } = next;
    if (node === null || typeof node !== "object") continue;
    const schema = node as Record<string, unknown>;
    if (!Array.isArray(node) && headerKey in schema) {
      if (!isProperty || !isOnPath || !isValid(schema[headerKey], schema.type)) return false;
    }
    for (const [key, value] of Object.entries(schema)) {
      // A default or an example is a value and no schema, whatever it holds.
      if (valueKeys.has(key)) continue;
      if (key === "properties" && value !== null && typeof value === "object")
        for (const child of Object.values(value)) waiting.push({ node: child, isProperty: true, isOnPath });
      else waiting.push({ node: value, isProperty: false, isOnPath: false });
    }
  }
  return true;
}

/** Keywords whose values are no schemas. */
const valueKeys = new Set(["default", "const", "enum", "examples", "example", headerKey]);
