/** What the API says of the fields of a form: those that the form has, by their names, and the rest in words. */
export interface FieldFaults {
  readonly ofFields: { readonly [field: string]: string };
  readonly others: readonly string[];
}

/**
 * Sorts the issues of an error by the fields of a form. A path such as `/tools/0` or
 * `turnLimits.maxSeconds` belongs to the field with the longest name that begins it.
 */
export function fieldFaults(
  issues: readonly { readonly path: string; readonly message: string }[],
  fields: readonly string[],
): FieldFaults {
  const ofFields: Record<string, string> = {};
  const others: string[] = [];
  for (const { path, message } of issues) {
    const name = path.replace(/^\//, "").replaceAll("/", ".");
    const field = fields
      .filter((each) => name === each || name.startsWith(`${each}.`))
      .sort((left, right) => right.length - left.length)[0];
    if (field === undefined) others.push(name === "" ? `${message}.` : `${name} ${message}.`);
    else ofFields[field] ??= name === field ? message : `${name.slice(field.length + 1)} ${message}`;
  }
  return { ofFields, others };
}
