import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Config } from "../kernel/config.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { type Columns, table } from "./text-table.ts";

/** A command that cannot be run as it was typed. Its message is one line for the operator. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What a command knows of the processes beside it: the variables that they share. */
export type CommandConfig = Pick<Config, "workerConcurrency">;

/** A command whose words are understood: it runs on the database and returns what to print. */
export type Command = (sql: AnySql, config: CommandConfig) => Promise<string>;

/** Reads what follows a verb. Throws `UsageError`. */
export type ReadWords = (words: readonly string[]) => Command;

/** The value of each option that was given; all of them of an option that may be given more than once. */
export type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** The option of a command that can print JSON for a program. */
export const jsonOption = { json: { type: "boolean" } } as const;

/** Returns the command that the first word names, read before anything is opened. Throws `UsageError`. */
export function chooseVerb(verbs: Readonly<Record<string, ReadWords>>, words: readonly string[]): Command {
  const [name, ...rest] = words;
  const read = name !== undefined && Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (read !== undefined) return read(rest);
  const fault = name === undefined ? "No command given" : `There is no command ${JSON.stringify(name)}`;
  const known = Object.keys(verbs);
  throw new UsageError(`${fault}; the ${known.length === 1 ? "command is" : "commands are"} ${known.join(", ")}.`);
}

/** Returns the reader of a verb that takes these options, each once unless it is `multiple`, and no other words. */
export function withOptions(
  options: NonNullable<ParseArgsConfig["options"]>,
  read: (values: Values) => Command,
): ReadWords {
  return (words) => read(readValues(words, options));
}

function readValues(words: readonly string[], options: NonNullable<ParseArgsConfig["options"]>): Values {
  try {
    const { values, tokens } = parseArgs({
      args: withValues(words, options),
      options,
      strict: true,
      allowPositionals: false,
      tokens: true,
    });
    const given = tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []));
    const repeated = given.find((name, place) => given.indexOf(name) !== place && options[name]?.multiple !== true);
    if (repeated !== undefined) throw new UsageError(`--${repeated} is given twice.`);
    return values as Values;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError((error as Error).message.split("\n", 1)[0] as string);
  }
}

/** Returns the words with each value joined to its option, because a value such as -5 would be taken for an option. Throws `UsageError`. */
function withValues(words: readonly string[], options: NonNullable<ParseArgsConfig["options"]>): string[] {
  const joined: string[] = [];
  for (let place = 0; place < words.length; place += 1) {
    const word = words[place] as string;
    const next = words[place + 1];
    if (optionOf(word, options)?.type !== "string" || word.includes("=")) {
      joined.push(word);
      continue;
    }
    if (next === undefined || optionOf(next, options) !== undefined) throw new UsageError(`${word} needs a value.`);
    joined.push(`${word}=${next}`);
    place += 1;
  }
  return joined;
}

function optionOf(word: string, options: NonNullable<ParseArgsConfig["options"]>) {
  const [, name = ""] = /^--([^=]+)/.exec(word) ?? [];
  return Object.hasOwn(options, name) ? options[name] : undefined;
}

/** Returns the value of an option that must be there. Throws `UsageError`. */
export function required(values: Values, name: string): string {
  const value = values[name];
  if (typeof value !== "string") throw new UsageError(`--${name} is missing.`);
  return value;
}

/** Returns things as a table for a person, or with `--json` as JSON in one line for a program. */
export function list<T>(values: Values, columns: Columns<T>, things: readonly T[]): string {
  return values.json === true ? `${JSON.stringify(things)}\n` : table(columns, things);
}

/** Returns the number of `--limit`, which is left out for `fallback`. Throws `UsageError`. */
export function readRowLimit({ limit }: Values, fallback: number, max: number): number {
  const number = limit === undefined ? fallback : /^\d{1,6}$/.test(String(limit)) ? Number(limit) : 0;
  if (number < 1 || number > max) throw new UsageError(`--limit must be a whole number from 1 to ${max}.`);
  return number;
}
