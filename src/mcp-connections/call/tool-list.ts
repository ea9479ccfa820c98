import { jsonValuesMax } from "../../kernel/limits.ts";
import { toolListBytesMax, toolNameLengthMax, toolsMax } from "../limits.ts";
import { asFields, asText, type JsonFields, Unreadable } from "../wire/fields.ts";
import { hasValidHeaders } from "./param-headers.ts";
import type { Result } from "./response-stream.ts";

/** A tool as an MCP server offers it. */
export interface McpTool {
  /** The server's own name for it. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  /** The server says that the tool changes nothing. */
  readonly readOnly: boolean;
  /** A call of it has to be asked for as a task (revision 2025-11-25). */
  readonly runsAsTask: boolean;
}

/** A tool of a server's list that cannot be used, and why. One without a readable name is called by its place, `#3`. */
export interface LeftOutTool {
  readonly name: string;
  readonly reason: string;
}

/** What the revision in use says of tools. */
interface ListRules {
  /** Calls may be asked for as tasks. */
  readonly hasTasks: boolean;
  /** Inputs may name headers that repeat them (revision 2026-07-28). */
  readonly hasHeaders: boolean;
}

/** One value of JSON takes about this much memory as an object, beside its text. */
const valueBytes = 64;
/** And a tool that is left out, with its name and the reason. */
const leftOutBytes = 512;

/**
 * Reads a server's list of tools, page by page. Of a tool only the fields that are used are read;
 * hints such as annotations, icons and schemas of output cost nothing, whatever they are.
 */
export class ToolListReader {
  readonly #tools = new Map<string, McpTool>();
  readonly leftOut: LeftOutTool[] = [];
  readonly #rules: ListRules;
  #rows = 0;
  #bytes = 0;
  #values = 0;
  readonly #cursors = new Set<string>();

  constructor(rules: ListRules) {
    this.#rules = rules;
  }

  get tools(): McpTool[] {
    return [...this.#tools.values()];
  }

  /** About so much memory the list takes. */
  get bytes(): number {
    return this.#bytes + this.#values * valueBytes + this.leftOut.length * leftOutBytes;
  }

  /** Reads a page. Returns the cursor of the next one; null when this was the last that is read. Throws `Unreadable`. */
  read({ value, bytes }: Result): string | null {
    const page = asFields(value);
    if (page === null) throw new Unreadable("`result` is no object");
    const rows = page.tools ?? [];
    if (!Array.isArray(rows)) throw new Unreadable("`result.tools` is no list");
    this.#bytes += bytes;
    if (this.#bytes > toolListBytesMax) {
      this.#bytes -= bytes;
      return this.#leaveOutRest(`The list has more than ${toolListBytesMax} bytes`);
    }
    const before = this.#tools.size;
    const leftOutBefore = this.leftOut.length;
    for (const row of rows) {
      if (this.#tools.size >= toolsMax || this.leftOut.length >= toolsMax)
        return this.#leaveOutRest(`The list has more than ${toolsMax} tools`);
      this.#rows += 1;
      const reason = this.#add(row);
      if (reason !== null) this.leftOut.push({ name: this.#nameOf(row), reason });
      if (this.#values > jsonValuesMax) return this.#leaveOutRest(`The list has more than ${jsonValuesMax} values`);
    }
    const isNew = this.#tools.size > before;
    // Some servers send the same page again and again.
    if (!isNew && this.#cursors.size > 0) this.leftOut.length = leftOutBefore;
    const cursor = asText(page.nextCursor);
    if (cursor === null || this.#cursors.has(cursor) || !isNew) return null;
    this.#cursors.add(cursor);
    return cursor;
  }

  /** Notes that what follows is not read. */
  leaveOutRest(reason: string): void {
    this.leftOut.push({ name: `#${this.#rows + 1}`, reason: `${reason}: this tool and those after it are left out.` });
  }

  #leaveOutRest(reason: string): null {
    this.leaveOutRest(reason);
    return null;
  }

  #nameOf(row: unknown): string {
    const name = asText(asFields(row)?.name);
    return name === null ? `#${this.#rows}` : name.slice(0, toolNameLengthMax);
  }

  /** Returns why a tool is left out; null when it is in the list. */
  #add(row: unknown): string | null {
    try {
      const tool = this.#readTool(row);
      this.#tools.set(tool.name, tool);
      return null;
    } catch (error) {
      if (error instanceof Unreadable) return `${error.message}.`;
      throw error;
    }
  }

  #readTool(row: unknown): McpTool {
    const fields = asFields(row);
    if (fields === null) throw new Unreadable("It is no object");
    const name = asText(fields.name);
    if (name === null) throw new Unreadable("`name` is missing or no text");
    if (name.length > toolNameLengthMax) throw new Unreadable(`\`name\` has more than ${toolNameLengthMax} characters`);
    if (this.#tools.has(name)) throw new Unreadable("A tool before it has the same name");
    const inputSchema = readInputSchema(fields.inputSchema, () => {
      this.#values += 1;
    });
    if (this.#rules.hasHeaders && !hasValidHeaders(inputSchema))
      throw new Unreadable("`inputSchema` has an `x-mcp-header` that the protocol does not allow");
    return {
      name,
      description: readDescription(fields.description),
      inputSchema,
      readOnly: asFields(fields.annotations)?.readOnlyHint === true,
      runsAsTask: this.#rules.hasTasks && asFields(fields.execution)?.taskSupport === "required",
    };
  }
}

/** Some servers send the lines of a description as a list. */
function readDescription(value: unknown): string {
  if (Array.isArray(value)) return value.filter((line) => typeof line === "string").join("\n");
  return asText(value) ?? "";
}

/** Returns the schema of a tool's input, that of an object: what says nothing else is taken for one. Throws `Unreadable`. */
function readInputSchema(value: unknown, count: () => void): Record<string, unknown> {
  if (value === undefined || value === null || value === true) return { type: "object" };
  const schema = asFields(value);
  if (schema === null) throw new Unreadable("`inputSchema` is no schema");
  const { type } = schema;
  const isObject = Array.isArray(type) ? type.includes("object") : [undefined, null, "object"].includes(type as null);
  if (!isObject) throw new Unreadable("`inputSchema.type` is not `object`");
  return { ...(withoutNulls(schema, count) as JsonFields), type: "object" };
}

/** Keywords whose values are values and no schemas: null is one of those. */
const valueKeywords = new Set(["default", "const", "enum", "examples", "example"]);
/** Keywords that hold schemas by name. */
const namedSchemas = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/**
 * Returns a schema without keywords that are null, which are absent, and with an object of schemas
 * where an empty list stands for it, as PHP writes an empty one. Counts its values.
 */
function withoutNulls(value: unknown, count: () => void): unknown {
  count();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, count));
  const kept: [string, unknown][] = [];
  for (const [keyword, held] of Object.entries(value)) {
    if (valueKeywords.has(keyword)) kept.push([keyword, counted(held, count)]);
    else if (namedSchemas.has(keyword)) {
      const schemas = Array.isArray(held) && held.length === 0 ? {} : held;
      if (schemas !== null) kept.push([keyword, byName(schemas, count)]);
    } else if (held !== null) kept.push([keyword, withoutNulls(held, count)]);
  }
  return Object.fromEntries(kept);
}

/** Returns schemas by name; the names are no keywords. */
function byName(schemas: unknown, count: () => void): unknown {
  count();
  const named = asFields(schemas);
  if (named === null) return withoutNulls(schemas, count);
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, schema]) => (schema === null ? [] : [[name, withoutNulls(schema, count)]])),
  );
}

function counted(value: unknown, count: () => void): unknown {
  count();
  if (typeof value === "object" && value !== null) for (const held of Object.values(value)) counted(held, count);
  return value;
}
