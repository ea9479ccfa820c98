import { Type } from "@sinclair/typebox";
import type { Issue } from "../kernel/errors.ts";
import { Component, example } from "../kernel/http/component.ts";
import { Characters } from "../kernel/http/request-fields.ts";
import type { ValueSchema } from "../kernel/json-schema.ts";
import { schemaFault } from "../kernel/json-schema-fault.ts";
import { toolGroups, toolsOfGroup, toolsOfSkills } from "./tool-groups.ts";

/** Client tools that one agent may have. */
const clientToolsPerAgentMax = 50;
/** A client tool's name has at most this many characters, as many as the model vendors accept. */
const nameCharactersMax = 64;
/** A client tool's description has at most this many characters. */
export const clientToolDescriptionCharactersMax = 4_096;
/** A client tool's input schema has at most this many bytes as JSON. */
const inputSchemaBytesMax = 16 * 1024;

/** A tool that the caller runs: the model calls it, and the turn waits for the caller's result. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly inputSchema: Exclude<ValueSchema, boolean>;
}

const ClientToolField = Component("ClientTool", {
  name: example(Characters({ min: 1, max: nameCharactersMax, pattern: "^[A-Za-z0-9_-]+$" }), "current_location"),
  description: example(
    Characters({ max: clientToolDescriptionCharactersMax }),
    "Where the user is, as latitude and longitude.",
  ),
  inputSchema: example(Type.Object({ type: Type.Literal("object") }, { additionalProperties: true }), {
    type: "object",
    properties: { precise: { type: "boolean" } },
  }),
});

/** The field `clientTools` of an agent, in requests and in responses. */
export const ClientTools = Type.Array(ClientToolField, { maxItems: clientToolsPerAgentMax });

/**
 * Returns what is wrong with client tools beyond their fields' types: an input schema that is none
 * or too large, or a name that is a built-in tool's (of any group, also one that is off) or given
 * twice. Names of MCP tools are compared elsewhere (`confirmations.ts`).
 */
export function clientToolIssues(tools: readonly ClientTool[]): Issue[] {
  const seen = new Set<string>();
  return tools.flatMap(({ name, inputSchema }, index): Issue[] => {
    const path = `/clientTools/${index}`;
    const issues: Issue[] = [];
    if (builtInNames.has(name)) issues.push({ path: `${path}/name`, message: "is the name of a built-in tool" });
    if (seen.has(name)) issues.push({ path: `${path}/name`, message: "is the name of an earlier client tool" });
    seen.add(name);
    const bytes = Buffer.byteLength(JSON.stringify(inputSchema));
    if (bytes > inputSchemaBytesMax) {
      const message = `must be at most ${inputSchemaBytesMax} bytes as JSON`;
      return [...issues, { path: `${path}/inputSchema`, message }];
    }
    const fault = schemaFault(inputSchema);
    return fault === null ? issues : [...issues, { ...fault, path: `${path}/inputSchema${fault.path}` }];
  });
}

const builtInNames = new Set([...toolGroups.flatMap((group) => toolsOfGroup[group]), ...toolsOfSkills]);
