import type { Form } from "../../src/kernel/errors.ts";
import { ladder, leastRoleOf } from "./roles.ts";

/**
 * One operation of the interface as the documents describe it. The table is data:
 * it is written from the documents, never from the code, and the tests walk it.
 */
export interface Contract {
  /** Method and path, ids as `:name`. */
  readonly op: string;
  /** The only form that has the operation; left out: both. */
  readonly form?: Form;
  /** The statuses of success, the usual one first. */
  readonly success: readonly number[];
  /** The name of the response's shape (`shapes.ts`); `stream`, `events` (the Open Responses protocol's stream), `bytes`, or null for a response without a body. */
  readonly shape: string | null;
  /** Path ids by name: prefix, and what a missing one is (see `errors`); null where existence is not checked. */
  readonly ids?: Readonly<Record<string, readonly [prefix: string, missing: string | null]>>;
  /** How the body is sent; left out: the operation takes none. */
  readonly body?: "json" | "multipart" | "bytes";
  /**
   * Errors beyond the shared ones, one cause each: "status code" where the forms agree, else
   * "B | A", with "-" for a form that cannot meet it.
   */
  readonly errors: readonly string[];
  readonly limits?: readonly Limit[];
  /** What an Idempotency-Key does: nothing, the same response again, or join the turn. */
  readonly key?: "response" | "turn";
  /** A client token is good for it; for any other it is 403. */
  readonly client?: true;
  /** It stores something: 429 once the tenant stores as much as it may. */
  readonly stores?: true;
  /** A broken field is 400 `invalid_request` in both forms. */
  readonly plainInvalid?: true;
  /** A body field that must be there, so that it can be left out. */
  readonly required?: readonly string[];
}

/** A bound: tried at the last value that is taken and at the first that is not. */
export interface Limit {
  /** JSON pointer of a body field, name of a query field, or what is counted. */
  readonly field: string;
  readonly unit: "characters" | "ascii" | "bytes" | "json" | "number" | "items" | "query" | "header" | "cap" | "file";
  readonly min?: number;
  readonly max?: number;
  /** For caps and files: the errors beyond (see `Contract.errors`). */
  readonly beyond?: string;
  readonly form?: Form;
}

export const characters = (field: string, min: number, max: number): Limit => ({ field, unit: "characters", min, max });
export const number = (field: string, min: number, max?: number): Limit => ({
  field,
  unit: "number",
  min,
  ...(max === undefined ? {} : { max }),
});
export const ascii = (field: string, min: number, max: number): Limit => ({ field, unit: "ascii", min, max });
export const pageLimit = (max: number): Limit => ({ field: "limit", unit: "query", min: 1, max });
export const cap = (field: string, max: number, beyond: string): Limit => ({ field, unit: "cap", max, beyond });
export const file = (field: string, max: number, beyond: string): Limit => ({ field, unit: "file", max, beyond });

/** Of the field `responseFormat`. */
export const responseFormat: readonly Limit[] = [
  { field: "/responseFormat/name", unit: "ascii", min: 1, max: 64 },
  { field: "/responseFormat/schema", unit: "json", max: 64 * 1024 },
];
/** What a resource's or a turn's free data may weigh as JSON (docs/configuration.md, "Limits"). */
export const metadata: Limit = { field: "/metadata", unit: "json", max: 64 * 1024 };
/** The same of a message's own. */
export const metadataOf = (pointer: string): Limit => ({ ...metadata, field: `${pointer}/metadata` });
/** docs/configuration.md, "Limits". */
export const userId = characters("/userId", 0, 256);
const idempotencyKey: Limit = { field: "Idempotency-Key", unit: "header", max: 255 };

/** All limits of an operation: its own, and that of the key it takes. */
export function limitsOf({ key, limits = [] }: Contract): readonly Limit[] {
  return key === undefined ? limits : [...limits, idempotencyKey];
}

/** Status and code of an error in one form. */
export interface Spelling {
  readonly status: number;
  readonly code: string;
}

/** A row of `Contract.errors` in one form; null where that form cannot meet it. */
export function spelled(row: string, form: Form): Spelling | null {
  const [b = "", a = b] = row.split(" | ");
  const text = form === "a" ? a : b;
  if (text === "-") return null;
  const [status, code = ""] = text.split(" ");
  return { status: Number(status), code };
}

/** The forms that have an operation. */
export function formsOf({ form }: { readonly form?: Form | undefined }): readonly Form[] {
  return form === undefined ? ["a", "b"] : [form];
}

export const methodOf = ({ op }: Contract): string => op.split(" ")[0] ?? "";
export const pathOf = ({ op }: Contract): string => op.split(" ")[1] ?? "";

/** Errors of every operation: docs/decisions/errors.md and docs/decisions/keys.md. */
export const sharedErrors = {
  unauthorized: "401 unauthorized",
  subscription: "402 subscription_required",
  pace: "429 rate_limited",
  internal: "500 internal",
  away: "503 service_unavailable",
} as const;

/** What an operation is to a client token that is not good for it. */
export const clientRefused = "403 invalid_request";

/** What an operation is to a role below the least one that may do it. */
export const roleRefused = "403 forbidden";

const invalid = "400 validation_failed | 400 invalid_request";
export const invalidRow = ({ plainInvalid }: Contract): string => (plainInvalid ? "400 invalid_request" : invalid);
const tooLarge = "413 payload_too_large";
/** What storing something is past the tenant's limit. */
export const storedTooMuch = "429 quota_exceeded";
/** What a body with a Content-Encoding is. */
export const encoded = "415 unsupported_media_type | 415 invalid_request";
const keyReused = "422 idempotency_key_reused";
const keyBusy = "409 idempotency_in_progress";

/** All errors of an operation, each once: its own, its ids', and the shared ones. */
export function errorsOf(contract: Contract): string[] {
  const { ids = {}, body, key, errors, client, stores } = contract;
  const missing = Object.values(ids).flatMap(([, row]) => (row === null ? [] : [row]));
  const rows = [
    ...Object.values(sharedErrors),
    invalidRow(contract),
    ...(client === true ? [] : [clientRefused]),
    ...(leastRoleOf(contract.op) === ladder[0] ? [] : [roleRefused]),
    ...(body === "json" ? [tooLarge] : []),
    ...(stores === true ? [storedTooMuch] : []),
    ...(body === undefined ? [] : [encoded]),
    ...(key === undefined ? [] : [keyReused]),
    ...(key === "response" ? [keyBusy] : []),
    ...missing,
    ...errors,
  ];
  return [...new Set(rows)];
}
