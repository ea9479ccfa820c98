import { ApiError, type Form, type Issue } from "../errors.ts";

/**
 * The domain speaks form B. A change says how one resource differs in form A:
 * `up` turns a body or query of form A into B before it is checked, `down` turns
 * a resource of B into A (docs/forms.md, "In the code").
 */
export interface FormChange {
  /** Turns form A's fields into form B's. Throws 400 for form B's name of a field that form A names otherwise. */
  up(fields: Readonly<Record<string, unknown>>): Record<string, unknown>;
  down(resource: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** Form A's pointer to what form B's pointer names, for the issues of an error. */
  pathInA?(path: string): string;
  /** Fields that only form A shows: responses in form B leave them out. */
  readonly fieldsOfA?: readonly string[];
}

/** Returns what the domain returned as the given form shows it. */
export function showIn(form: Form, change: FormChange | undefined, result: unknown): unknown {
  if (change === undefined) return result;
  const { fieldsOfA = [] } = change;
  if (form === "a") return walk(result, (resource) => change.down(resource));
  return fieldsOfA.length === 0 ? result : walk(result, (resource) => omit(resource, fieldsOfA));
}

type Fields = Readonly<Record<string, unknown>>;

/** A result is the resource itself, or holds resources one level down: `{ agents: [...] }`, `{ data: [...], nextCursor }`, an array. */
function walk(value: unknown, show: (resource: Fields) => Fields): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, show));
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Fields;
  const lists = Object.entries(fields).filter(
    ([name, field]) => (name === "data" || name === "agents") && Array.isArray(field),
  );
  if (lists.length === 0) return show(fields);
  return {
    ...fields,
    ...Object.fromEntries(lists.map(([name, list]) => [name, (list as unknown[]).map((item) => walk(item, show))])),
  };
}

/** Returns an error whose issues point at form A's fields. */
export function errorInA(error: unknown, change: FormChange | undefined): unknown {
  if (!(error instanceof ApiError) || change?.pathInA === undefined) return error;
  const issues = error.details?.issues as readonly Issue[] | undefined;
  const first = issues?.[0];
  if (issues === undefined || first === undefined) return error;
  const pathInA = change.pathInA.bind(change);
  const named = error.message.startsWith(`${first.path}: `);
  return new ApiError(error.reason, {
    message: named ? `${pathInA(first.path)}${error.message.slice(first.path.length)}` : error.message,
    details: { ...error.details, issues: issues.map(({ path, message }) => ({ path: pathInA(path), message })) },
    headers: error.headers,
  });
}

/** Returns the form a request asks for, or null when it leaves that to the tenant. Throws 400 for any other value. */
export function askedForm(request: Request): Form | null {
  const asked = request.headers.get("api-form");
  if (asked === null) return null;
  if (asked !== "a" && asked !== "b")
    throw new ApiError("validation_failed", {
      message: "API-Form must be a or b.",
      details: { issues: [{ path: "API-Form", message: "must be a or b" }] },
    });
  return asked;
}

/** Returns the fields without those named. */
export function omit(fields: Fields, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
