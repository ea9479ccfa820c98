import { type Document, parseDocument, visit } from "yaml";
import { ApiError } from "../kernel/errors.ts";
import { checkText } from "../kernel/http/json-body.ts";

/** The size limit of the frontmatter, as YAML and as JSON. */
const frontmatterBytesMax = 16 * 1024;
/** YAML aliases may repeat this many nodes in all; real frontmatter stays far below. */
const aliasedNodesMax = 50;
/** A skill's name has at most this many characters. */
const nameCharactersMax = 200;
/** A skill's description has at most this many characters. */
const descriptionCharactersMax = 4_096;

type Fields = Readonly<Record<string, unknown>>;

/** What a skill's SKILL.md says about it. */
export interface Manifest {
  readonly name: string;
  readonly description: string;
  /** The frontmatter's `metadata` map. */
  readonly metadata: Fields;
  /** The whole frontmatter. */
  readonly meta: Fields;
}

/**
 * The tags of YAML's core schema, the only ones that may be written out: what
 * others stand for (`!!binary`, `!!timestamp`) cannot be written as JSON.
 */
const coreTags = ["str", "int", "float", "bool", "null", "map", "seq"].map((name) => `tag:yaml.org,2002:${name}`);

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Returns what a SKILL.md says of its skill: YAML frontmatter between two lines of `---`
 * that sets `name` and `description` (docs/decisions.md, "Skills"). Throws 400
 * `skill_invalid_markdown`.
 */
export function readManifest(content: Uint8Array = new Uint8Array()): Manifest {
  const meta = parse(frontmatterOf(decode(content)));
  const { name, description, metadata = null } = meta;
  return {
    name: text("name", name, nameCharactersMax),
    description: text("description", description, descriptionCharactersMax),
    metadata: metadata === null ? {} : fields("metadata", metadata),
    meta,
  };
}

function decode(content: Uint8Array): string {
  try {
    return utf8.decode(content);
  } catch {
    throw broken("it is not UTF-8");
  }
}

function frontmatterOf(markdown: string): string {
  const opening = /^---[ \t]*\r?\n/.exec(markdown);
  if (opening === null) throw broken("it must begin with YAML frontmatter, a line of ---");
  const rest = markdown.slice(opening[0].length, opening[0].length + frontmatterBytesMax);
  const closing = /^---[ \t]*\r?$/m.exec(rest);
  if (closing === null) throw broken(`its frontmatter must end with a line of --- within ${frontmatterBytesMax} bytes`);
  return rest.slice(0, closing.index);
}

/** Returns the frontmatter as plain JSON. */
function parse(yaml: string): Fields {
  const document = parseYaml(yaml);
  try {
    const json = JSON.stringify(document.toJS({ maxAliasCount: aliasedNodesMax })) ?? "null";
    if (json.length > frontmatterBytesMax) throw broken("its frontmatter is too large");
    const value = JSON.parse(json, refuseProto);
    checkText(value, "");
    return fields("its frontmatter", value);
  } catch (error) {
    // Aliases that expand to too much or to a cycle, nesting too deep for the stack, a text that cannot be stored.
    throw isBroken(error) ? error : broken("its frontmatter holds what cannot be stored");
  }
}

/** An own `__proto__` field would turn into a prototype wherever an object is copied field by field. */
function refuseProto(key: string, value: unknown): unknown {
  if (key === "__proto__") throw broken("__proto__ is not a name for a field");
  return value;
}

function parseYaml(yaml: string) {
  let document: ReturnType<typeof parseDocument>;
  try {
    document = parseDocument(yaml, { schema: "core", logLevel: "silent", prettyErrors: false });
  } catch {
    throw broken("its frontmatter is not valid YAML");
  }
  if (document.errors.length > 0) throw broken("its frontmatter is not valid YAML");
  refuseBeyondJson(document);
  return document;
}

/** Refuses tags outside the core schema, and numbers (`.nan`, `.inf`) that JSON would silently turn into null. */
function refuseBeyondJson(document: Document): void {
  visit(document, {
    Node(_key, node) {
      if ("tag" in node && node.tag !== undefined && !coreTags.includes(node.tag))
        throw broken("its frontmatter holds a tag that is not of YAML's core schema");
      if ("value" in node && typeof node.value === "number" && !Number.isFinite(node.value))
        throw broken("its frontmatter holds a number that is not finite");
    },
  });
}

function fields(what: string, value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw broken(`${what} must be a map`);
  return value as Fields;
}

function text(field: string, value: unknown, charactersMax: number): string {
  if (typeof value !== "string" || value.trim() === "") throw broken(`${field} must be a text that is not empty`);
  const characters = [...value].length;
  if (characters > charactersMax) throw broken(`${field} must have at most ${charactersMax} characters`);
  return value;
}

function broken(reason: string): ApiError {
  return new ApiError("skill_invalid_markdown", { message: `SKILL.md is not valid: ${reason}.` });
}

function isBroken(error: unknown): boolean {
  return error instanceof ApiError && error.reason === "skill_invalid_markdown";
}
