import { type Document, isAlias, isMap, isNode, isScalar, Lexer, type ParsedNode, parseDocument, visit } from "yaml";
import { checkText } from "../kernel/http/json-body.ts";
import { type Part, partsOf, verbatim } from "./frontmatter-lines.ts";
import { broken, type FilePlace, isBroken, placeAt } from "./frontmatter-place.ts";

/** The size limit of the frontmatter, as YAML and as JSON. */
const frontmatterBytesMax = 16 * 1024;
/**
 * This many tokens of YAML are given to its parser, whose time grows with them and not with the bytes: 16 KiB of `[`
 * are 16,000 tokens. 4,000 take 20 ms at worst; a line `key: value` is five of them.
 */
const tokensMax = 4_000;
/** Signs that the parser takes longer for than for words: 3,900 commas within brackets took 110 ms, 1,300 lines of `%TAG` 50 ms. Each counts as this many tokens. */
const slowSign = /^[[\]{},%&!*#]/;
const slowSignWeight = 4;
/** Collections may nest this deep, and this many keys may be written with `?`: the parser's time grows faster than these (1,900 `? ` took 1.9 s). */
const depthMax = 64;
/** YAML aliases may repeat this many nodes in all; real frontmatter stays far below. */
const aliasedNodesMax = 50;

/** So far before a value its tag is looked for: the time grows with the square. */
const tagCharactersMax = 200;

type Fields = Readonly<Record<string, unknown>>;

/** What stands between the two lines of `---`. */
export interface Frontmatter {
  /** All of it, as plain JSON. */
  readonly fields: Fields;
  /** Returns a field as it was written, where it is a single value: `1.10` and not 1.1. Null for lists, maps and null. */
  written(key: string): string | null;
  /** Returns where a field's value stands; where there is none, the begin of the frontmatter. */
  place(key: string): FilePlace;
}

/** The tags of YAML's core schema, the only ones that may be written out: what others stand for (`!!binary`, `!!timestamp`) cannot be written as JSON. */
const coreTags = ["str", "int", "float", "bool", "null", "map", "seq"].map((name) => `tag:yaml.org,2002:${name}`);
/** A tag of YAML's own, such as `!!binary`: an author who writes one means it. */
const yamlTag = /^tag:yaml\.org,2002:[a-z]+$/;

/**
 * Returns the frontmatter of a SKILL.md. What YAML refuses is read line by line, where
 * that can only mean one thing (docs/decisions/skills.md). Throws 400
 * `skill_invalid_markdown` that names the line, the column and what to do.
 */
export function readFrontmatter(markdown: string): Frontmatter {
  const source = sourceOf(markdown);
  limitTokens(source);
  const document = parseYaml(source.text);
  if (document.contents === null && document.errors.length === 0)
    throw broken(
      { line: source.line, column: 1 },
      "the frontmatter is empty",
      "write a line name: and a line description:, each followed by a text",
    );
  const fault = faultOf(document, source.text);
  if (fault === null) return ofYaml(document, source);
  return ofLines(source, placeAt(source, fault.at), fault.reason);
}

/** Returns why YAML has no map of fields here; null where it has one. */
function faultOf(document: Document.Parsed, text: string): { readonly at: number; readonly reason: string } | null {
  const [error] = document.errors;
  if (error !== undefined) return { at: error.pos[0], reason: error.message.slice(0, 160).replace(/[.:\s]+$/, "") };
  const { contents } = document;
  if (!isMap(contents)) return { at: contents?.range?.[0] ?? 0, reason: "there is no map of fields" };
  // Their words may begin with the sign of a tag, as `!important` does.
  for (const key of needed) {
    const value = contents.get(key, true) as ParsedNode | undefined;
    if (isNode(value) && "tag" in value && value.tag !== undefined && !yamlTag.test(value.tag))
      return { at: tagBefore(text, value.range[0]), reason: "a tag is not one of YAML's core schema" };
  }
  // The library sees an alias of nothing only when it is asked for the values.
  const anchors = new Set<string>();
  let fault: { at: number; reason: string } | null = null;
  visit(contents, {
    Node(_key, node) {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.add(node.anchor);
      } else if (!anchors.has(node.source)) {
        fault = { at: node.range?.[0] ?? 0, reason: "an alias names nothing" };
        return visit.BREAK;
      }
      return undefined;
    },
  });
  return fault;
}

/** Returns where the tag of a value begins, which stands before it, perhaps with an anchor between. */
function tagBefore(text: string, at: number): number {
  const from = Math.max(0, at - tagCharactersMax);
  const found = /!\S*\s*(?:&\S+\s*)?$/.exec(text.slice(from, at));
  return found === null ? at : from + found.index;
}

interface Source {
  readonly text: string;
  /** The number of its first line within the file. */
  readonly line: number;
}

function sourceOf(markdown: string): Source {
  const opening = /^---[ \t]*\r?\n/.exec(markdown);
  if (opening === null)
    throw broken({ line: 1, column: 1 }, "YAML frontmatter is missing", "make --- the whole of the first line");
  const rest = markdown.slice(opening[0].length, opening[0].length + frontmatterBytesMax);
  const closing = /^---[ \t]*\r?$/m.exec(rest);
  if (closing === null)
    throw broken(
      { line: 1, column: 1 },
      `the frontmatter has no end within ${frontmatterBytesMax} characters`,
      "put a line of --- after its last field",
    );
  return { text: rest.slice(0, closing.index), line: 2 };
}

/** Refuses what would keep the parser busy, before it sees it. Reading tokens alone takes a time that grows with the bytes. */
function limitTokens(source: Source): void {
  let tokens = 0;
  let at = 0;
  let flows = 0;
  let keys = 0;
  for (const token of new Lexer().lex(source.text)) {
    tokens += slowSign.test(token) ? slowSignWeight : 1;
    if (token === "[" || token === "{") flows += 1;
    if (token === "]" || token === "}") flows -= 1;
    if (token === "?") keys += 1;
    if (tokens > tokensMax)
      throw broken(placeAt(source, at), "the frontmatter has too many fields and signs", "move what is long below it");
    if (flows > depthMax || keys > depthMax) throw tooDeep(placeAt(source, at));
    at += token.length;
  }
}

const tooDeep = (place: FilePlace) => broken(place, `fields nest deeper than ${depthMax} levels`, "nest them less");

function parseYaml(text: string): Document.Parsed {
  return parseDocument(text, { schema: "core", logLevel: "silent", prettyErrors: false });
}

function ofYaml(document: Document.Parsed, source: Source): Frontmatter {
  const start: FilePlace = { line: source.line, column: 1 };
  const node = (key: string) => {
    const value = document.has(key) ? document.get(key, true) : undefined;
    return isNode(value) ? (value as ParsedNode) : undefined;
  };
  return {
    fields: toFields(document, source),
    written: (key) => {
      const value = node(key);
      if (!isScalar(value) || value.value === null) return null;
      return typeof value.value === "string" ? value.value : (value.source ?? null);
    },
    place: (key) => {
      const from = node(key)?.range?.[0];
      return from === undefined ? start : placeAt(source, from);
    },
  };
}

/** Returns the document as plain JSON. */
function toFields(document: Document.Parsed, source: Source): Fields {
  const start: FilePlace = { line: source.line, column: 1 };
  refuseBeyondJson(document, source);
  try {
    const json = JSON.stringify(document.toJS({ maxAliasCount: aliasedNodesMax })) ?? "null";
    if (json.length > frontmatterBytesMax)
      throw broken(start, `the frontmatter has more than ${frontmatterBytesMax} characters`, "shorten it");
    const value = JSON.parse(json, (key, field) => {
      // An own `__proto__` field would turn into a prototype wherever an object is copied field by field.
      if (key === "__proto__") throw broken(start, "__proto__ is not a name for a field", "rename it");
      return field;
    });
    checkText(value, "");
    return value as Fields;
  } catch (error) {
    // Aliases that expand to too much or to a cycle, nesting too deep for the stack, a text that cannot be stored.
    if (isBroken(error)) throw error;
    throw broken(start, "the frontmatter holds what cannot be stored", "take aliases, NUL and half characters out");
  }
}

/** Refuses tags outside the core schema, and numbers (`.nan`, `.inf`) that JSON would silently turn into null. */
function refuseBeyondJson(document: Document.Parsed, source: Source): void {
  visit(document, {
    Node(_key, node, path) {
      const at = node.range?.[0] ?? 0;
      const place = () => placeAt(source, at);
      // Each level is a collection and its pair.
      if (path.length > depthMax * 2) throw tooDeep(place());
      if ("tag" in node && node.tag !== undefined && !coreTags.includes(node.tag))
        throw broken(
          placeAt(source, tagBefore(source.text, at)),
          "a tag is not one of YAML's core schema",
          "put the value in double quotes",
        );
      if ("value" in node && typeof node.value === "number" && !Number.isFinite(node.value))
        throw broken(place(), "a number is not finite", "put it in double quotes");
    },
  });
}

/** The fields without which there is no skill. */
const needed = ["name", "description"];

/** Reads what YAML refused, each field for itself. Throws YAML's own fault where that does not give name and description. */
function ofLines(source: Source, fault: FilePlace, reason: string): Frontmatter {
  const parts = new Map<string, Part>();
  for (const part of partsOf(source)) {
    if (needed.includes(part.key) && parts.has(part.key))
      throw broken(part.place, `${part.key} stands there twice`, "keep one of them");
    parts.set(part.key, part);
  }
  if (!needed.every((key) => parts.has(key)))
    throw broken(fault, `this is not valid YAML (${reason})`, "put the value in double quotes, or correct it");
  const fields = new Map([...parts].map(([key, part]) => [key, readPart(part)]));
  return {
    // As a field, `__proto__` is no name here either.
    fields: Object.fromEntries(
      [...fields].filter(([key]) => key !== "__proto__").map(([key, { json }]) => [key, json]),
    ),
    written: (key) => fields.get(key)?.written ?? null,
    place: (key) => parts.get(key)?.place ?? { line: source.line, column: 1 },
  };
}

/** Refuses a list, map or quote that has no end: all of it would be taken as one text, and its author would not be told. */
function refuseUnclosed({ lines, place }: Part, { errors }: Document.Parsed): void {
  const [sign = ""] = lines.join("\n").trim();
  const end = closing[sign];
  if (end === undefined || !errors.some(({ code }) => code === (sign === end ? "MISSING_CHAR" : "BAD_INDENT"))) return;
  throw broken(place, `${sign} is not closed`, `end the value with ${end}, or put all of it in quotes`);
}

/** What ends a value that begins so. */
const closing: Readonly<Record<string, string>> = { "[": "]", "{": "}", '"': '"', "'": "'" };

/** Returns a field's value by YAML, where YAML takes the field alone, and else its text. */
function readPart(part: Part): { readonly json: unknown; readonly written: string | null } {
  const document = parseYaml(part.yaml);
  if (faultOf(document, part.yaml) === null) {
    const alone = ofYaml(document, { text: part.yaml, line: part.place.line });
    return { json: alone.fields[part.key] ?? null, written: alone.written(part.key) };
  }
  // Of these only a description is prose, which may begin with a bracket that nothing closes.
  if (part.key !== "description") refuseUnclosed(part, document);
  if (needed.includes(part.key)) {
    const text = verbatim(part);
    return { json: text, written: text };
  }
  // Of `metadata` only a map is anything, so one that cannot be read is none.
  return { json: part.key === "metadata" ? null : part.lines.join("\n").trim(), written: null };
}
