import { ApiError, invalid } from "../kernel/errors.ts";
import { jsonBodyBytesMax } from "../kernel/limits.ts";
import { isBlank } from "../messages/blank.ts";

/** A template has at most this many distinct variables. */
const promptVariablesMax = 10;
/** A rendered prompt has at most this many UTF-16 units: no more than a message in a request body could hold. */
const renderedLengthMax = jsonBodyBytesMax;
/** An error names at most this many variables. */
const namedVariablesMax = 20;

/** A variable is `{{name}}` and nothing looser: `{{ name }}`, `{{1}}` and `{{}}` are plain text. */
const variableToken = /\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}/g;

/** Returns the distinct variables of a template, in order of first appearance. */
export function variablesOf(template: string): string[] {
  return [...new Set(template.matchAll(variableToken).map((match) => match[1] as string))];
}

/** Throws 400 `validation_failed` when the template is blank, or has more than ten distinct variables. */
export function checkTemplate(template: string): void {
  if (isBlank(template)) throw invalid("/template", "must have a text that is not blank");
  if (variablesOf(template).length > promptVariablesMax)
    throw invalid("/template", `must have at most ${promptVariablesMax} distinct variables`);
}

/**
 * Returns a template with the values filled in, in one pass: a value that itself holds
 * `{{name}}` stays as it is. Values may be empty.
 *
 * Throws 400 `prompt_variable_missing` or `prompt_variable_unknown` unless
 * `values` names exactly the template's variables; `details.variables` lists
 * which. Throws 400 `validation_failed` when the result would be too long.
 */
export function renderTemplate(template: string, values: Readonly<Record<string, string>>): string {
  const names = new Set(variablesOf(template));
  const missing = [...names].filter((name) => !Object.hasOwn(values, name));
  if (missing.length > 0) throw variableError("prompt_variable_missing", missing, "is required");
  const unknown = Object.keys(values).filter((name) => !names.has(name));
  if (unknown.length > 0) throw variableError("prompt_variable_unknown", unknown, "is not a variable of the prompt");

  let length = template.length;
  for (const [token, name] of template.matchAll(variableToken))
    length += (values[name as string] as string).length - token.length;
  if (length > renderedLengthMax) throw invalid("/variables", "would make the rendered prompt too long");
  return template.replace(variableToken, (_token, name: string) => values[name] as string);
}

function variableError(
  cause: "prompt_variable_missing" | "prompt_variable_unknown",
  names: readonly string[],
  rule: string,
): ApiError {
  const variables = names.slice(0, namedVariablesMax);
  const issues = variables.map((name) => ({
    path: `/variables/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    message: rule,
  }));
  return new ApiError(cause, { details: { variables, issues } });
}
