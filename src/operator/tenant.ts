import { setTenant } from "../installation/actions.ts";
import { commandOperator, recordOperator } from "../installation/operator-audit.ts";
import { tx } from "../kernel/database/transaction.ts";
import type { Form } from "../kernel/errors.ts";
import { groupsPerTenantMax } from "../members/groups.ts";
import { deleteTenant } from "../tenants/purge.ts";
import {
  apiKeysMaxMax,
  createTenantWithKey,
  integerMax,
  listTenants,
  type TenantChange,
  type TenantRecord,
  TooManyGroups,
  weightMax,
} from "../tenants/store.ts";
import {
  type Command,
  chooseVerb,
  jsonOption,
  list,
  required,
  UsageError,
  type Values,
  withOptions,
} from "./command.ts";
import { readGroups } from "./tenant-groups.ts";
import { readKey } from "./tenant-key.ts";
import { noTenant, readName, readTenant } from "./tenant-words.ts";
import type { Columns } from "./text-table.ts";

/** What the command line takes (docs/decisions/operator-commands.md). */
export const tenantUsage = `tenant create --name N [--form a|b] [--admin-agent] [--json]
tenant list [--json]
tenant set --tenant ten_… [--name N] [--subscription active|inactive] [--usage-credit TOKENS|none]
           [--quota-turns-per-day N|none] [--rate-limit N|none] [--monetization on|off] [--form a|b]
           [--pause-hours N] [--retention-days N|none]
           [--running-turns N|none] [--queued-turns N|none] [--weight N] [--api-keys N]
           [--stored-mib N|none]
           [--group NAME=admin|editor|runner|approver|reader|none]…
tenant key --tenant ten_… [--name N] [--replace ak_…] [--json]
tenant delete --tenant ten_…
`;

/** A pause for a person lasts at most a year. */
const pauseHoursMax = 8_760;
/** Sessions are kept for at most a hundred years, or for ever. */
const retentionDaysMax = 36_500;

const verbs = {
  create: withOptions(
    { name: { type: "string" }, form: { type: "string" }, "admin-agent": { type: "boolean" }, ...jsonOption },
    readCreate,
  ),
  list: withOptions(jsonOption, readList),
  set: withOptions(
    {
      tenant: { type: "string" },
      name: { type: "string" },
      subscription: { type: "string" },
      "usage-credit": { type: "string" },
      "quota-turns-per-day": { type: "string" },
      "rate-limit": { type: "string" },
      monetization: { type: "string" },
      "pause-hours": { type: "string" },
      "retention-days": { type: "string" },
      "running-turns": { type: "string" },
      "queued-turns": { type: "string" },
      weight: { type: "string" },
      "stored-mib": { type: "string" },
      "api-keys": { type: "string" },
      group: { type: "string", multiple: true },
      form: { type: "string" },
    },
    readSet,
  ),
  key: withOptions(
    { tenant: { type: "string" }, name: { type: "string" }, replace: { type: "string" }, ...jsonOption },
    readKey,
  ),
  delete: withOptions({ tenant: { type: "string" } }, readDelete),
};

/** Returns the command that the words name, read before anything is opened. Throws `UsageError`. */
export const readTenantCommand = (words: readonly string[]): Command => chooseVerb(verbs, words);

function readCreate(values: Values): Command {
  const name = readName(values);
  const form = values.form === undefined ? "b" : readForm(values);
  const tenant = { name, form, adminAgent: values["admin-agent"] === true };
  return async (sql) => {
    const made = await tx(sql, async (inner) => {
      const created = await createTenantWithKey(inner, tenant);
      await recordOperator(inner, "tenant.create", created.tenantId, { tenantId: created.tenantId });
      return created;
    });
    if (values.json === true) return `${JSON.stringify(made)}\n`;
    return `Tenant   ${made.tenantId}\nAPI key  ${made.token}\nThe key is shown only here.\n`;
  };
}

function readList(values: Values): Command {
  return async (sql) => list(values, columns, await listTenants(sql));
}

function readSet(values: Values): Command {
  const tenantId = readTenant(values);
  const change: TenantChange = {
    ...(values.name !== undefined && { name: readName(values) }),
    ...(values.subscription !== undefined && { subscription: choice(values, "subscription", "active", "inactive") }),
    ...(values["usage-credit"] !== undefined && {
      usageCredit: limit(values, "usage-credit", Number.MAX_SAFE_INTEGER),
    }),
    ...(values["quota-turns-per-day"] !== undefined && {
      quotaTurnsPerDay: limit(values, "quota-turns-per-day", integerMax),
    }),
    ...(values["rate-limit"] !== undefined && { rateLimit: limit(values, "rate-limit", integerMax) }),
    ...(values.monetization !== undefined && { monetization: choice(values, "monetization", "on", "off") === "on" }),
    ...(values["running-turns"] !== undefined && { runningTurns: limit(values, "running-turns", integerMax) }),
    ...(values["queued-turns"] !== undefined && { queuedTurns: limit(values, "queued-turns", integerMax) }),
    ...(values.weight !== undefined && { weight: whole(values, "weight", 1, weightMax) }),
    ...(values["stored-mib"] !== undefined && { storedMib: limit(values, "stored-mib", integerMax) }),
    ...(values["api-keys"] !== undefined && { apiKeysMax: whole(values, "api-keys", 1, apiKeysMaxMax) }),
    ...(values["pause-hours"] !== undefined && { pauseHours: whole(values, "pause-hours", 1, pauseHoursMax) }),
    ...(values["retention-days"] !== undefined && { retentionDays: retention(values) }),
    ...(values.form !== undefined && { form: readForm(values) }),
    ...(values.group !== undefined && { groups: readGroups(values) }),
  };
  if (Object.keys(change).length === 0) throw new UsageError("tenant set needs something to set.");
  return async (sql) => {
    const changed = await setTenant(sql, commandOperator(), tenantId, change).catch((error: unknown) => {
      throw error instanceof TooManyGroups
        ? new UsageError(`A tenant has at most ${groupsPerTenantMax} groups.`)
        : error;
    });
    if (changed === null) throw noTenant(tenantId);
    return changed.length > 0 ? `${tenantId} is changed.\n` : `${tenantId} has these values already.\n`;
  };
}

function readDelete(values: Values): Command {
  const tenantId = readTenant(values);
  return async (sql) => {
    const outcome = await tx(sql, async (inner) => {
      const ended = await deleteTenant(inner, tenantId);
      if (ended !== "missing") await recordOperator(inner, "tenant.delete", tenantId, { tenantId });
      return ended;
    });
    if (outcome === "missing") throw noTenant(tenantId);
    if (outcome === "ended") return `${tenantId} is deleted.\n`;
    return `${tenantId} takes no new turns and is deleted once its last turn has ended.\n`;
  };
}

function readForm(values: Values): Form {
  return choice(values, "form", "a", "b");
}

function choice<T extends string>(values: Values, name: string, ...choices: readonly T[]): T {
  const found = choices.find((known) => known === values[name]);
  if (found === undefined) throw new UsageError(`--${name} must be ${choices.join(" or ")}.`);
  return found;
}

/** Returns a whole number, or null for `none`. Throws `UsageError`. */
function limit(values: Values, name: string, max: number): number | null {
  const text = required(values, name);
  if (text === "none") return null;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number <= max)) throw new UsageError(`--${name} must be a whole number from 0 to ${max}, or none.`);
  return number;
}

/** Returns the days, or null for `none`. No days at all would delete every session at once. Throws `UsageError`. */
function retention(values: Values): number | null {
  if (values["retention-days"] === "none") return null;
  return whole(values, "retention-days", 1, retentionDaysMax, ", or none");
}

/** Returns a whole number; `others` says what else the option takes. Throws `UsageError`. */
function whole(values: Values, name: string, min: number, max: number, others = ""): number {
  const text = required(values, name);
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= min && number <= max))
    throw new UsageError(`--${name} must be a whole number from ${min} to ${max}${others}.`);
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
  ["RUNNING", (tenant) => shown(tenant.runningTurns)],
  ["QUEUED", (tenant) => shown(tenant.queuedTurns)],
  ["WEIGHT", (tenant) => String(tenant.weight)],
  ["KEYS", (tenant) => String(tenant.apiKeysMax)],
  ["STORED", ({ storedBytes, storedMib }) => storedText(storedBytes, storedMib)],
  ["GROUPS", ({ groups }) => shownGroups(groups)],
  ["PAUSE", (tenant) => `${tenant.pauseHours} h`],
  ["RETENTION", (tenant) => (tenant.retentionDays === null ? "none" : `${tenant.retentionDays} d`)],
  ["MONETIZATION", (tenant) => (tenant.monetization ? "on" : "off")],
];

function shown(value: number | null): string {
  return value === null ? "none" : String(value);
}

function shownGroups(groups: TenantRecord["groups"]): string {
  const shown = Object.entries(groups).map(([name, role]) => `${name}=${role}`);
  return shown.length === 0 ? "none" : shown.join(", ");
}

function storedText(bytes: number, storedMib: number | null): string {
  const mib = (bytes / 1024 / 1024).toFixed(1);
  return storedMib === null ? `${mib} MiB` : `${mib} of ${storedMib} MiB`;
}
