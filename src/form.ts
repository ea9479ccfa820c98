import { ApiError, type Form, invalid } from "./errors.ts";
import { sandboxIdOf, workspaceIdOf } from "./ids.ts";

/**
 * The domain speaks form B. A change says how one resource differs in form A:
 * `up` turns a body or query of form A into B before it is checked, `down` turns
 * an answer of B into A (design section 4).
 */
export interface FormChange {
  /** Turns form A's fields into form B's. Throws 400 for a field only form B has. */
  up(fields: Readonly<Record<string, unknown>>): Record<string, unknown>;
  down(resource: Readonly<Record<string, unknown>>): Record<string, unknown>;
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
  "workspaceId",
  "thinkingLevel",
  "autoCompaction",
  "compactionReserveTokens",
  "approvalInChat",
  "approvalInTasks",
];

/** Agents and their versions. Form A's `skills` are kept by the domain under the same name. */
export const agentChange: FormChange = {
  up(fields) {
    refuse(fields, agentFieldsOfB);
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
};

function upId(sandboxId: unknown): unknown {
  if (sandboxId === null) return null;
  if (typeof sandboxId !== "string" || !/^sb_[0-9a-z]{24}$/.test(sandboxId))
    throw invalid("/sandboxId", "must have the shape sb_…");
  return workspaceIdOf(sandboxId);
}

function upTools(tools: unknown): unknown {
  if (!Array.isArray(tools)) return tools;
  return tools.map((tool, index) => {
    if (toolGroupInA.has(tool)) throw invalid(`/tools/${index}`, "is not a tool group");
    return toolGroupInB.get(tool) ?? tool;
  });
}

function refuse(fields: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const found = names.find((name) => Object.hasOwn(fields, name));
  if (found !== undefined) throw invalid(`/${found}`, "is not a known field");
}

function omit(fields: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
