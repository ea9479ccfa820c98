/** A JSON InputSchema, or a part of one, as it was sent. */
export type InputSchema = Record<string, unknown>;

/** A pointer has at most this many steps. */
const stepsMax = 100;
/** The pointers of one schema have at most this many steps together; 15,000 pointers of 60 took 0.1 s. */
export const pointerStepsMax = 20_000;
/** References at the top that are followed one after the other, at most. */
const followedMax = 32;

/**
 * The references of a schema. Vendors know those to `$defs`, and to the whole; any other one (`#/properties/…`) is
 * replaced by what it leads to.
 */
export class SchemaPointers {
  readonly #root: InputSchema;
  readonly #used = new Set<string>();
  /** Steps of pointers that were gone so far. */
  steps = 0;

  constructor(root: InputSchema) {
    this.#root = root;
  }

  /** The names in `$defs` that are referred to. It grows while it is gone through. */
  get used(): Iterable<string> {
    return this.#used;
  }

  definition(name: string): unknown {
    return own(this.#root.$defs, name) ?? own(this.#root.definitions, name);
  }

  /** Returns the top of a schema, which vendors want as an object and not as a reference. */
  topOf(root: InputSchema): InputSchema {
    let top = root;
    for (let steps = 0; steps < followedMax && typeof top.$ref === "string"; steps++) {
      const { $ref, ...rest } = top;
      const target = this.#find(String($ref));
      top = isRecord(target) && target !== this.#root ? { ...target, ...rest } : rest;
    }
    return top;
  }

  /** Returns what a reference is sent as: a reference, or the schema it leads to; null where it leads to none, or to another document. */
  follow(reference: string): string | InputSchema | null {
    if (reference === "#") return reference;
    const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(reference)?.[1];
    if (name === undefined) {
      const target = this.#find(reference);
      return isRecord(target) ? target : null;
    }
    const decoded = decode(name);
    if (this.definition(decoded) === undefined) return null;
    this.#used.add(decoded);
    return `#/$defs/${encode(decoded)}`;
  }

  #find(reference: string): unknown {
    if (!reference.startsWith("#/")) return reference === "#" ? this.#root : undefined;
    const steps = reference.slice(2).split("/", stepsMax + 1);
    this.steps += steps.length;
    if (steps.length > stepsMax || this.steps > pointerStepsMax) return undefined;
    let found: unknown = this.#root;
    for (const step of steps) found = own(found, decode(step));
    return found;
  }
}

function own(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as InputSchema)[name]
    : undefined;
}

function decode(step: string): string {
  if (!/[%~]/.test(step)) return step;
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // As it stands.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

function encode(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function isRecord(value: unknown): value is InputSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
