import { type ParseArgsConfig, parseArgs } from "node:util";
import type { AnySql } from "../db.ts";
import type { Form } from "../errors.ts";
import { isId } from "../ids.ts";
import { type Columns, table } from "../table.ts";
import { deleteTenant } from "./purge.ts";
import { changeTenant, createTenantWithKey, listTenants, type TenantChange, type TenantRecord } from "./store.ts";

/** A command that cannot be run as it was typed. Its message is one line for the operator. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A command whose words are understood: it runs on the database and answers what to print. */
export type Command = (sql: AnySql) => Promise<string>;

/** What the command line takes (`decisions.md`, "Operator's command line"). */
export const usage = `tenant create --name N [--form a|b] [--admin-agent] [--json]
tenant list [--json]
tenant set --tenant ten_… [--subscription active|inactive] [--usage-credit TOKENS|none]
           [--quota-turns-per-day N|none] [--rate-limit N|none] [--monetization on|off] [--form a|b]
tenant delete --tenant ten_…
`;

/** A tenant's name has at most this many characters. */
const nameCharactersMax = 80;
/** The largest number of the columns of type `integer`. */
const integerMax = 2_147_483_647;

export type Values = Readonly<Record<string, string | boolean | undefined>>;

const verbs: Readonly<
  Record<string, { options: NonNullable<ParseArgsConfig["options"]>; read: (values: Values) => Command }>
> = {
  create: {
    options: {
      name: { type: "string" },
      form: { type: "string" },
      "admin-agent": { type: "boolean" },
      json: { type: "boolean" },
    },
    read: readCreate,
  },
  list: { options: { json: { type: "boolean" } }, read: readList },
  set: {
    options: {
      tenant: { type: "string" },
      subscription: { type: "string" },
      "usage-credit": { type: "string" },
      "quota-turns-per-day": { type: "string" },
      "rate-limit": { type: "string" },
      monetization: { type: "string" },
      form: { type: "string" },
    },
    read: readSet,
  },
  delete: { options: { tenant: { type: "string" } }, read: readDelete },
};

/** Understands a command before anything is opened. Throws `UsageError`. */
export function readCommand(words: readonly string[]): Command {
  const [name, ...rest] = words;
  const verb = name !== undefined && Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb === undefined) {
    const said = name === undefined ? "No command given" : `There is no command ${JSON.stringify(name)}`;
    throw new UsageError(`${said}; the commands are ${Object.keys(verbs).join(", ")}.`);
  }
  return verb.read(readValues(rest, verb.options));
}

/** The options among a command's words, each given once. Throws `UsageError`. */
export function readValues(words: string[], options: NonNullable<ParseArgsConfig["options"]>): Values {
  try {
    const { values, tokens } = parseArgs({ args: words, options, strict: true, allowPositionals: false, tokens: true });
    const given = tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []));
    const repeated = given.find((name, place) => given.indexOf(name) !== place);
    if (repeated !== undefined) throw new UsageError(`--${repeated} is given twice.`);
    return values as Values;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError((error as Error).message.split("\n", 1)[0] as string);
  }
}

function readCreate(values: Values): Command {
  const name = required(values, "name");
  const characters = [...name].length;
  if (characters < 1 || characters > nameCharactersMax || !name.isWellFormed() || /\p{Cc}/u.test(name))
    throw new UsageError(`--name must have 1 to ${nameCharactersMax} characters, without control characters.`);
  const form = values.form === undefined ? "b" : readForm(values);
  const tenant = { name, form, adminAgent: values["admin-agent"] === true };
  return async (sql) => {
    const made = await createTenantWithKey(sql, tenant);
    if (values.json === true) return `${JSON.stringify(made)}\n`;
    return `Tenant   ${made.tenantId}\nAPI key  ${made.token}\nThe key is shown only here.\n`;
  };
}

function readList(values: Values): Command {
  return async (sql) => {
    const tenants = await listTenants(sql);
    return values.json === true ? `${JSON.stringify(tenants)}\n` : table(columns, tenants);
  };
}

function readSet(values: Values): Command {
  const tenantId = readTenant(values);
  const change: TenantChange = {
    ...(values.subscription !== undefined && { subscription: choice(values, "subscription", "active", "inactive") }),
    ...(values["usage-credit"] !== undefined && {
      usageCredit: limit(values, "usage-credit", Number.MAX_SAFE_INTEGER),
    }),
    ...(values["quota-turns-per-day"] !== undefined && {
      quotaTurnsPerDay: limit(values, "quota-turns-per-day", integerMax),
    }),
    ...(values["rate-limit"] !== undefined && { rateLimit: limit(values, "rate-limit", integerMax) }),
    ...(values.monetization !== undefined && { monetization: choice(values, "monetization", "on", "off") === "on" }),
    ...(values.form !== undefined && { form: readForm(values) }),
  };
  if (Object.keys(change).length === 0) throw new UsageError("tenant set needs something to set.");
  return async (sql) => {
    if (!(await changeTenant(sql, tenantId, change))) throw noTenant(tenantId);
    return `${tenantId} is changed.\n`;
  };
}

function readDelete(values: Values): Command {
  const tenantId = readTenant(values);
  return async (sql) => {
    const outcome = await deleteTenant(sql, tenantId);
    if (outcome === "missing") throw noTenant(tenantId);
    if (outcome === "ended") return `${tenantId} is deleted.\n`;
    return `${tenantId} takes no new turns and is deleted once its last turn has ended.\n`;
  };
}

function noTenant(tenantId: string): UsageError {
  return new UsageError(`There is no tenant ${tenantId}.`);
}

function required(values: Values, name: string): string {
  const value = values[name];
  if (typeof value !== "string") throw new UsageError(`--${name} is missing.`);
  return value;
}

function readTenant(values: Values): string {
  const tenantId = required(values, "tenant");
  if (!isId("tenant", tenantId)) throw new UsageError("--tenant must have the shape ten_….");
  return tenantId;
}

function readForm(values: Values): Form {
  return choice(values, "form", "a", "b");
}

function choice<T extends string>(values: Values, name: string, ...choices: readonly T[]): T {
  const found = choices.find((known) => known === values[name]);
  if (found === undefined) throw new UsageError(`--${name} must be ${choices.join(" or ")}.`);
  return found;
}

/** A whole number, or null for `none`. */
function limit(values: Values, name: string, max: number): number | null {
  const text = required(values, name);
  if (text === "none") return null;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number <= max)) throw new UsageError(`--${name} must be a whole number from 0 to ${max}, or none.`);
  return number;
}

const columns: Columns<TenantRecord> = [
  ["TENANT", (tenant) => tenant.tenantId],
  ["NAME", (tenant) => tenant.name],
  ["STATUS", (tenant) => tenant.status],
  ["FORM", (tenant) => tenant.form],
  ["SUBSCRIPTION", (tenant) => tenant.subscription],
  ["CREDIT", (tenant) => shown(tenant.usageCredit)],
  ["TURNS/DAY", (tenant) => shown(tenant.quotaTurnsPerDay)],
  ["REQUESTS/S", (tenant) => shown(tenant.rateLimit)],
  ["MONETIZATION", (tenant) => (tenant.monetization ? "on" : "off")],
];

function shown(value: number | null): string {
  return value === null ? "none" : String(value);
}
