import { Kind, type TSchema } from "@sinclair/typebox";

/** What a changed field became, as texts; `before` is null where that is not known. */
export interface ChangedValue {
  readonly field: string;
  readonly before: string | null;
  readonly after: string;
}

/** A longer value is cut. */
const valueCharactersMax = 200;
/** Fields of an event whose values are kept, and items of a list that are. */
const keptMax = 50;
/** Texts that are settings and no content: which model is asked. What a thing is called is somebody's words. */
const settingTexts: ReadonlySet<string> = new Set(["model"]);

/** A value that may be kept. */
type Plain = string | number | boolean | null | readonly Plain[] | { readonly [field: string]: Plain };

interface Changed {
  readonly fields: readonly string[];
  /** What the fields may be; of one without a rule nothing is kept. */
  readonly rules: Readonly<Record<string, TSchema>>;
  readonly before: object | undefined;
  readonly after: object;
}

/**
 * Returns the values of changed fields that an audit event may keep: yes and no, numbers, ids and words of closed lists, by the
 * schema of the request; of texts only `settingTexts`. What somebody wrote is erased with its resource, which an event outlives,
 * and secrets are texts: so neither is ever kept.
 */
export function changedValues({ fields, rules, before, after }: Changed): ChangedValue[] {
  const [old, now] = [before ?? {}, after] as Readonly<Record<string, unknown>>[];
  return fields.slice(0, keptMax).flatMap((field) => {
    const rule = rules[field];
    if (rule === undefined) return [];
    const kept = (value: unknown) => {
      const plain = fieldOf(field, rule, value);
      return plain === undefined ? null : textOf(plain);
    };
    const [was, is] = [kept(old?.[field]), kept(now?.[field])];
    // Where they are the same, what changed is in a part that is not kept.
    return is === null || is === was ? [] : [{ field, before: was, after: is }];
  });
}

/** Returns values that are known to be settings as an event keeps them. */
export function settingValues(values: readonly { field: string; before: Plain; after: Plain }[]): ChangedValue[] {
  return values.map(({ field, before, after }) => ({ field, before: textOf(before), after: textOf(after) }));
}

function fieldOf(field: string, rule: TSchema, value: unknown): Plain | undefined {
  return settingTexts.has(field) && typeof value === "string" ? value : plainOf(rule, value);
}

/** Returns what of a value may be kept, by its schema; undefined: nothing. */
function plainOf(rule: TSchema, value: unknown): Plain | undefined {
  if (value === null) return null;
  if (Array.isArray(rule.anyOf)) return firstKept(rule.anyOf as TSchema[], value);
  if (rule.const !== undefined) return value === rule.const ? (value as Plain) : undefined;
  if (typeof value === "boolean") return rule.type === "boolean" ? value : undefined;
  if (typeof value === "number") return rule.type === "number" || rule.type === "integer" ? value : undefined;
  if (typeof value === "string") return isIdRule(rule) || isDecimalRule(rule) ? value : undefined;
  if (Array.isArray(value)) return listOf(rule, value);
  return typeof value === "object" ? partsOf(rule, value) : undefined;
}

function firstKept(rules: readonly TSchema[], value: unknown): Plain | undefined {
  for (const rule of rules) {
    const kept = plainOf(rule, value);
    if (kept !== undefined) return kept;
  }
  return undefined;
}

/** A list is kept whole or not at all: one with gaps would say what is not so. Nor is an empty one of texts, which would seem to have become none. */
function listOf(rule: TSchema, value: readonly unknown[]): Plain | undefined {
  const items = rule.items as TSchema | undefined;
  if (items === undefined || value.length > keptMax || isTextRule(items)) return undefined;
  const kept = value.map((item) => {
    const plain = plainOf(items, item);
    return isWhole(item, plain) ? plain : undefined;
  });
  return kept.every((item) => item !== undefined) ? kept : undefined;
}

function isWhole(item: unknown, kept: Plain | undefined): boolean {
  return typeof item !== "object" || Object.keys(item ?? {}).length === Object.keys(kept ?? {}).length;
}

function partsOf(rule: TSchema, value: object): Plain | undefined {
  const parts = Object.entries(value)
    .slice(0, keptMax)
    .flatMap(([field, part]) => {
      const own = rule.properties?.[field] as TSchema | undefined;
      const kept = own === undefined ? undefined : fieldOf(field, own, part);
      return kept === undefined ? [] : [[field, kept] as const];
    });
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}

/** The rules of what somebody wrote. */
function isTextRule(rule: TSchema): boolean {
  return rule.type === "string" && rule.const === undefined && !isIdRule(rule) && !isDecimalRule(rule);
}

/** The rules of `Id`: a prefix and a fixed number of letters and digits. */
function isIdRule(rule: TSchema): boolean {
  return rule[Kind] === "String" && /^\^[a-z]+_\[0-9a-z\]\{\d+\}\$$/.test(rule.pattern ?? "");
}

/** The rule of `Dollars`: an amount as decimal text. */
function isDecimalRule(rule: TSchema): boolean {
  return rule[Kind] === "String" && (rule.pattern ?? "").startsWith("^(0|[1-9]\\d{0,");
}

function textOf(value: Plain): string {
  const text = typeof value === "string" ? value : isWords(value) ? value.join(", ") : JSON.stringify(value);
  return text.length <= valueCharactersMax ? text : `${[...text].slice(0, valueCharactersMax - 1).join("")}…`;
}

function isWords(value: Plain): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
}
