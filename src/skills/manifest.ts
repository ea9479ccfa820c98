import { type Frontmatter, readFrontmatter } from "./frontmatter.ts";
import { broken } from "./frontmatter-place.ts";

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

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Returns what a SKILL.md says of its skill: YAML frontmatter between two lines of `---`
 * that sets `name` and `description` (docs/decisions/skills.md). Throws 400
 * `skill_invalid_markdown` that names the line, the column and what to do.
 */
export function readManifest(content: Uint8Array = new Uint8Array()): Manifest {
  const frontmatter = readFrontmatter(decode(content));
  return {
    name: text(frontmatter, "name", nameCharactersMax),
    description: text(frontmatter, "description", descriptionCharactersMax),
    metadata: metadataOf(frontmatter),
    meta: frontmatter.fields,
  };
}

function decode(content: Uint8Array): string {
  try {
    return utf8.decode(content);
  } catch {
    throw broken({ line: 1, column: 1 }, "the file is not UTF-8", "save it as UTF-8");
  }
}

function metadataOf({ fields, place }: Frontmatter): Fields {
  const { metadata = null } = fields;
  if (metadata === null) return {};
  if (typeof metadata !== "object" || Array.isArray(metadata))
    throw broken(place("metadata"), "metadata must be a map", "write it as indented lines of key: value");
  return metadata as Fields;
}

/** Returns a field that has to be a text. A number is one, as it was written: `name: 2024`. */
function text({ fields, written, place }: Frontmatter, field: string, charactersMax: number): string {
  const value = written(field);
  if (value === null && fields[field] === undefined)
    throw broken(place(field), `${field} is missing`, `add a line ${field}: followed by a text`);
  if (value === null) throw broken(place(field), `${field} must be a text`, "put it in double quotes");
  if (value.trim() === "") throw broken(place(field), `${field} must not be empty`, "write a text after the colon");
  const characters = [...value].length;
  if (characters > charactersMax)
    throw broken(place(field), `${field} must have at most ${charactersMax} characters`, "shorten it");
  return value;
}
