import type { TSchema } from "@sinclair/typebox";
import { takeBodyPlace } from "../admission/large-bodies.ts";
import type { Form } from "../errors.ts";
import { errorInA, type FormChange } from "./form.ts";
import { readJson } from "./json-body.ts";
import { waitAnew } from "./request.ts";
import { Closed } from "./request-fields.ts";
import { validateBody } from "./validate.ts";

/** What an operation without fields takes. */
export const nothing = Closed({});

/** Reads a request's JSON body in a place for its tenant. Throws as `readJson`, and 429 where there is no place. */
export type ReadJsonBody = (tenantId: string) => Promise<unknown>;

/**
 * Returns what reads the JSON body of a request once, however often it is asked: a request whose credential has to be looked up
 * after all is checked a second time.
 */
export function jsonBodyOf(request: Request): ReadJsonBody {
  let body: Promise<unknown> | null = null;
  return (tenantId) => {
    body ??= takeBodyPlace(request, tenantId)
      .then((release) => readJson(request, tenantId).finally(release))
      .finally(() => waitAnew(request));
    return body;
  };
}

/** A request as it came. */
export interface SentRequest {
  readonly request: Request;
  /** Null where the path's encoding is broken. */
  readonly params: Record<string, string | null>;
  /** The form that it asks for; null: its tenant's. */
  readonly asked: Form | null;
  readonly readJsonBody: ReadJsonBody;
}

/** What an operation's body has to be. */
interface BodyRules {
  readonly body?: TSchema | "raw";
  readonly bodyInA?: TSchema;
  readonly change?: FormChange;
}

/** Who sends a body, and what reads it. */
interface SentBody {
  readonly request: Request;
  readonly readJsonBody: ReadJsonBody;
  readonly form: Form;
  readonly tenantId: string;
}

/** Returns the checked body of a request, in form B's fields; undefined where the handler reads it itself. Throws 400, 413, 429. */
export async function readBody(spec: BodyRules, { request, readJsonBody, form, tenantId }: SentBody): Promise<unknown> {
  if (spec.body === "raw") return undefined;
  if (request.method === "GET" || request.method === "HEAD") return {};
  const value = await readJsonBody(tenantId);
  const isFields = typeof value === "object" && value !== null && !Array.isArray(value);
  const raised =
    form === "a" && spec.change !== undefined && isFields ? spec.change.up(value as Record<string, unknown>) : value;
  const schema = (form === "a" ? spec.bodyInA : undefined) ?? spec.body ?? nothing;
  return pointingIn(form, spec.change, async () => validateBody(schema, raised));
}

/** Runs what speaks form B's field names; its errors point at the asking form's. */
export async function pointingIn<T>(form: Form, change: FormChange | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw form === "a" ? errorInA(error, change) : error;
  }
}
