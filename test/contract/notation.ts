/**
 * A notation for shapes, one word a field: `text int number bool object any time day`, an
 * id by its prefix (`ag_`), a choice (`=a,b`), a list (`[text]`), another shape
 * (`#Agent`); `?` behind it for null, behind the field's name for one that may be
 * left out. Objects are closed.
 */
export type Fields = Readonly<Record<string, string>>;

const words: Readonly<Record<string, object>> = {
  any: {},
  text: { type: "string" },
  int: { type: "integer" },
  number: { type: "number" },
  bool: { type: "boolean" },
  object: { type: "object" },
  time: { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$" },
  day: { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\d$" },
};

function schemaOfWord(word: string): object {
  if (word.endsWith("?")) return { anyOf: [schemaOfWord(word.slice(0, -1)), { type: "null" }] };
  if (word.startsWith("[")) return { type: "array", items: schemaOfWord(word.slice(1, -1)) };
  if (word.startsWith("=")) return { enum: word.slice(1).split(",") };
  if (word.startsWith("#")) return { $ref: `#/$defs/${word.slice(1)}` };
  if (word.endsWith("_")) return { type: "string", pattern: `^${word}[0-9a-z]{24}$` };
  const known = words[word];
  if (known === undefined) throw new Error(`The notation has no ${word}.`);
  return known;
}

/** The JSON schema of an object in the notation. */
export function schemaOfFields(fields: Fields): object {
  const names = Object.keys(fields);
  return {
    type: "object",
    required: names.filter((name) => !name.endsWith("?")),
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, word]) => [name.replace("?", ""), schemaOfWord(word)]),
    ),
    additionalProperties: false,
  };
}
