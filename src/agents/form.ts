import { invalid } from "../kernel/errors.ts";
import { type FormChange, omit } from "../kernel/http/form.ts";
import { sandboxIdOf, workspaceIdOf } from "../workspaces/sandbox-id.ts";

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
  "fallbackModels",
  "turnLimits",
  "modelSettings",
  "promptCaching",
  "clientTools",
  "changeNote",
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
