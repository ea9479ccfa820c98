import type { FitTool } from "./fit-tools.ts";

/**
 * Places in the list of tools, as vendors and what stands before them write them: `tools[5].function.parameters`,
 * `tools.5.custom.input_schema`, `#/tools/5`, `"loc":["body","tools",5]`.
 */
const places = /\btools(?:\[|\.|\/|\\?["'],\s*)(\d{1,4})\b/gi;
/** Google's tools are all in one: `tools[0].function_declarations[5].parameters`. */
const declarations = /\bfunction_?declarations(?:\[|\.)(\d{1,4})\b/gi;
/** A name in quotation marks that is no field's of JSON, or after what it is the name of. */
const quoted = /["'`“‘]([\w-]{1,64})(?=(?:\\?["'`”’])(?!(?<=\w")\s*:))/g;
const announced = /\b(?:function|tool)s?(?:\s+name)?[\s:=]+([\w-]{1,64})/gi;

/**
 * Returns the tools that the words of a refusal are about: by their places in the list that was offered, or by their
 * names; of the latter only some that were never taken, because a name may stand in the words for another reason. None
 * where that cannot be told, as where the words name all.
 */
export function namedTools(words: string, offered: readonly FitTool[], never: readonly FitTool[]): FitTool[] {
  const indexes = placesIn(words, declarations) ?? placesIn(words, places);
  const placed = indexes === null ? [] : offered.filter((_, index) => indexes.has(index));
  const names = placed.length > 0 ? null : namesIn(words);
  const named = names === null ? placed : never.filter(({ definition }) => names.has(definition.name));
  return named.length === offered.length && offered.length > 1 ? [] : named;
}

function placesIn(words: string, pattern: RegExp): Set<number> | null {
  const found = new Set<number>();
  for (const [, place] of words.matchAll(pattern)) found.add(Number(place));
  return found.size === 0 ? null : found;
}

function namesIn(words: string): Set<string> {
  const found = new Set<string>();
  for (const pattern of [quoted, announced]) for (const [, name] of words.matchAll(pattern)) found.add(name as string);
  return found;
}
