/** Tool calls that a message asks for in words: "use the write tool", "call the bash tool with {"command":"ls"}". */
import type { Json, OfferedTool } from "./conversation.ts";
import { readFirstObject } from "./grammar.ts";
import type { Step } from "./script.ts";

/** Sample arguments follow a schema to this depth; an object below it is empty. */
const schemaDepthMax = 5;

/** Returns the steps a message asks for in words, one call each, in the order in which their tools are named. */
export function stepsAskedFor(message: string, tools: ReadonlyArray<OfferedTool>): ReadonlyArray<Step> {
  const byName = new Map(tools.map((tool) => [tool.name.toLowerCase(), tool]));
  const asked: { readonly tool: OfferedTool; readonly at: number; readonly end: number }[] = [];
  for (const match of message.matchAll(/\b(?:use|call|run|invoke)\s+(?:the\s+)?[`"']?([\w-]+)[`"']?\s+tool\b/gi)) {
    const tool = byName.get(match[1]!.toLowerCase());
    if (tool !== undefined) asked.push({ tool, at: match.index, end: match.index + match[0].length });
  }
  return asked.map(({ tool, end }, index) => {
    const clause = message.slice(end, asked[index + 1]?.at);
    const input = readFirstObject(clause) ?? sampleArguments(tool.parameters, clause);
    return { calls: [{ tool: tool.name, arguments: JSON.stringify(input) }] };
  });
}

/**
 * Returns arguments that fit a tool's JSON Schema. A file name or a quoted text in the
 * words of the request becomes the argument that it clearly fits; the rest are samples.
 */
function sampleArguments(schema: unknown, words: string): Json {
  const quoted = /["“`]([^"“”`]+)["”`]/.exec(words)?.[1];
  const file = /(?:^|[\s"“`'])((?:[\w.-]+\/)*[\w-]+\.\w{1,8})\b/.exec(words)?.[1];
  const text = quoted !== undefined && quoted !== file ? quoted : undefined;
  return sampleObject(schema, { file, text }, 0);
}

interface Found {
  readonly file: string | undefined;
  readonly text: string | undefined;
}

function sampleObject(schema: unknown, found: Found, depth: number): Json {
  const { properties, required } = asJson(schema);
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  if (depth >= schemaDepthMax) return {};
  return Object.fromEntries(names.map((name) => [name, sample(name, asJson(properties)[name], found, depth)]));
}

function sample(name: string, schema: unknown, found: Found, depth: number): unknown {
  const { type, enum: choices, const: only, default: preset, anyOf, items, minimum } = asJson(schema);
  if (only !== undefined) return only;
  if (preset !== undefined) return preset;
  if (Array.isArray(choices)) return choices[0];
  if (Array.isArray(anyOf)) return depth < schemaDepthMax ? sample(name, anyOf[0], found, depth + 1) : null;
  switch (Array.isArray(type) ? type[0] : type) {
    case "number":
    case "integer":
      return typeof minimum === "number" ? minimum : 1;
    case "boolean":
      return false;
    case "array":
      return depth < schemaDepthMax ? [sample(name, items, found, depth + 1)] : [];
    case "object":
      return sampleObject(schema, found, depth + 1);
    case "null":
      return null;
    default:
      return sampleText(name, found);
  }
}

const textSamples: Readonly<Record<string, string>> = {
  path: "hello.txt",
  content: "Hello from the simulated model.",
  text: "The simulated model was here.",
  command: "ls",
  pattern: "**/*",
  query: "hello",
};

function sampleText(name: string, { file, text }: Found): string {
  if (name === "path") return file ?? textSamples.path!;
  return text ?? textSamples[name] ?? "example";
}

function asJson(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}
