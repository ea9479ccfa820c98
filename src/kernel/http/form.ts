import { ApiError, type Form, type Issue, invalid } from "../errors.ts";
import { sandboxIdOf, workspaceIdOf } from "../ids.ts";

/**
 * The domain speaks form B. A change says how one resource differs in form A:
 * `up` turns a body or query of form A into B before it is checked, `down` turns
 * an answer of B into A (design section 4).
 */
export interface FormChange {
  /** Turns form A's fields into form B's. Throws 400 for form B's name of a field that form A names otherwise. */
  up(fields: Readonly<Record<string, unknown>>): Record<string, unknown>;
  down(resource: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** Form A's pointer to what form B's pointer names, for the issues of an error. */
  pathInA?(path: string): string;
  /** Fields that only form A shows: form B's answers leave them out. */
  readonly fieldsOfA?: readonly string[];
}

/** An answer of the domain as the given form shows it. */
export function showIn(form: Form, change: FormChange | undefined, answer: unknown): unknown {
  if (change === undefined) return answer;
  const { fieldsOfA = [] } = change;
  if (form === "a") return walk(answer, (resource) => change.down(resource));
  return fieldsOfA.length === 0 ? answer : walk(answer, (resource) => omit(resource, fieldsOfA));
}

type Fields = Readonly<Record<string, unknown>>;

/** An answer is the resource itself, or holds resources one level down: `{ agents: [...] }`, `{ data: [...], nextCursor }`, an array. */
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

/** An error whose issues point at form A's fields. */
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

/** The form a request asks for, or null when it leaves that to the tenant. Throws 400 for any other value. */
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

/** Tool group names that differ between the forms. */
const toolGroupInA = new Map([["workspace", "file_operation_sandbox"]]);
const toolGroupInB = new Map([...toolGroupInA].map(([b, a]) => [a, b]));

/** Fields of an agent that form A does not have. */
const agentFieldsOfB = [
  "thinkingLevel",
  "autoCompaction",
  "compactionReserveTokens",
  "approvalInChat",
  "approvalInTasks",
];

/** Agents and their versions. The domain keeps form A's `skills` under the same name. */
export const agentChange: FormChange = {
  fieldsOfA: ["skills"],
  up(fields) {
    if (Object.hasOwn(fields, "workspaceId")) throw invalid("/workspaceId", "is not a known field");
    const { sandboxId, tools, ...rest } = fields;
    return {
      ...rest,
      ...(sandboxId === undefined ? {} : { workspaceId: upId(sandboxId) }),
      ...(tools === undefined ? {} : { tools: upTools(tools) }),
    };
  },
  down(agent) {
    const { workspaceId, tools, ...rest } = agent;
    const shown = omit(rest, agentFieldsOfB);
    return {
      ...shown,
      ...(workspaceId === undefined
        ? {}
        : { sandboxId: typeof workspaceId === "string" ? sandboxIdOf(workspaceId) : null }),
      ...(Array.isArray(tools) ? { tools: tools.map((tool) => toolGroupInA.get(tool) ?? tool) } : {}),
    };
  },
  pathInA: (path) => path.replace(/^\/workspaceId(?=\/|$)/, "/sandboxId"),
};

function upId(sandboxId: unknown): unknown {
  if (sandboxId === null) return null;
  if (typeof sandboxId !== "string" || !/^sb_[0-9a-z]{24}$/.test(sandboxId))
    throw invalid("/sandboxId", "must have the shape sb_…");
  return workspaceIdOf(sandboxId);
}

/** Form B's name of a group is no group in form A; what is none in either form is left to the schema. */
function upTools(tools: unknown): unknown {
  if (!Array.isArray(tools)) return tools;
  return tools.map((tool, index) => {
    const nameInA = toolGroupInA.get(tool);
    if (nameInA !== undefined) throw invalid(`/tools/${index}`, `is not a tool group; form A calls it ${nameInA}`);
    return toolGroupInB.get(tool) ?? tool;
  });
}

function omit(fields: Fields, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
