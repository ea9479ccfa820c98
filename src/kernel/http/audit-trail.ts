import { isDeepStrictEqual } from "node:util";
import type { TSchema } from "@sinclair/typebox";
import { type ChangedValue, changedValues } from "../audit/changed-values.ts";
import { type AuditAction, recordAudit } from "../audit/record.ts";
import type { Principal } from "../auth/authenticator.ts";
import { requireStanding, type StandingRule } from "../auth/standing.ts";
import type { Tx } from "../database/client.ts";
import { isId } from "../ids.ts";
import { eraseResponsesOf } from "./erase-keys.ts";
import { Reply } from "./reply.ts";

/** What an operation leaves in the audit events: its action, or why it leaves none. */
export type AuditRule = AuditAction | { readonly none: string };

/** For operations on turns, which are no audit events. */
export const unaudited: AuditRule = { none: "A turn has a record of its own." };

/** What an event says beside who asked for what. The work may say it better than the request does. */
export interface AuditNote {
  /** Left out: the id in the response of a creation; else the last one of the path. */
  resourceId?: string;
  /** Left out: the fields of the request's body. */
  changes?: readonly string[];
  /** What became of them, where the work says so; left out: what the request and the resource say. */
  values?: readonly ChangedValue[];
  /** The work has written its own events, or has changed nothing. */
  isWritten?: boolean;
  /** The resource as it was: fields that are the same now did not change, and there is no event when none did. */
  before?: object;
  /** The resource as it is. Left out: the one in the response. */
  after?: object;
  /** Fields that the work changes beside those of the request, and what they may be, such as the number of a version. */
  also?: Readonly<Record<string, TSchema>>;
}

/** The request whose event is written. */
interface AuditedRequest {
  readonly rule: AuditRule | undefined;
  /** What the sender has to be allowed still, when the change is made. */
  readonly standing: StandingRule;
  readonly principal: Principal;
  readonly requestId: string;
  /** The last id of the path; undefined where it has none. */
  readonly named: string | undefined;
  readonly params: object;
  readonly body: unknown;
  /** What the body was checked against; null where it is read otherwise. */
  readonly schema: TSchema | null;
}

/** Writes the audit event of one request, in the transaction that makes its change. */
export class AuditTrail {
  readonly #request: AuditedRequest;

  constructor(request: AuditedRequest) {
    this.#request = request;
  }

  /** Does what `record` does in a transaction that no `Commit` began. Throws as `requireStanding`, which comes last here: it has no removal wait for long. */
  async write(inner: Tx, note: AuditNote = {}, result?: unknown): Promise<void> {
    await requireStanding(inner, this.#request.principal, this.#request.standing);
    await this.record(inner, note, result);
  }

  /**
   * Writes the event; `result` is what the operation responds with. Does nothing for an operation that leaves none. With a
   * resource that is deleted go the responses which are stored of it.
   */
  async record(inner: Tx, note: AuditNote = {}, result?: unknown): Promise<void> {
    const { rule, principal, requestId, named, params, body, schema } = this.#request;
    if (rule === undefined) throw new Error("An operation that writes says what it leaves in the audit events.");
    if (typeof rule === "object" || note.isWritten === true) return;
    if (rule.endsWith(".delete") && named !== undefined) await eraseResponsesOf(inner, named);
    const resource = note.after ?? resourceIn(result instanceof Reply ? result.value : result);
    const id = resource !== undefined && "id" in resource ? resource.id : undefined;
    const known = rule.endsWith(".create") ? (id ?? named) : (named ?? id);
    const sent = isObject(body) ? body : {};
    const fields = [...(note.changes ?? Object.keys(sent)), ...Object.keys(note.also ?? {})];
    const changes = note.before === undefined ? fields : changedFields(fields, note.before, resource ?? {});
    if (note.before !== undefined && changes.length === 0) return;
    const resourceId = note.resourceId ?? (typeof known === "string" ? known : null);
    await recordAudit(inner, {
      agentId: agentIn(resourceId, params, body, resource),
      tenantId: principal.tenant.id,
      actor: principal.actor,
      action: rule,
      resourceId,
      requestId,
      changes,
      values:
        note.values ??
        changedValues({
          fields: changes,
          rules: { ...schema?.properties, ...note.also },
          before: note.before,
          // As the interface names it, where a request may name it otherwise, and whole, where a request has a part.
          after: { ...sent, ...resource },
        }),
    });
  }
}

/** Returns the agent that a change is about: the resource itself, or the one that the request or its response names; null where there is none. */
function agentIn(resourceId: string | null, ...named: readonly unknown[]): string | null {
  if (resourceId !== null && isId("agent", resourceId)) return resourceId;
  const fields = named.filter(isObject).map(({ agentId }) => agentId);
  return fields.find((agentId) => typeof agentId === "string") ?? null;
}

/** Returns those fields that do not have the same value before and after; what is not shown, such as a secret, counts as changed. */
function changedFields(fields: readonly string[], before: object, after: object): string[] {
  const [old, now] = [before, after] as Readonly<Record<string, unknown>>[];
  return fields.filter((field) => !Object.hasOwn(old ?? {}, field) || !isSame(old?.[field], now?.[field]));
}

/** Whether two values are the same in JSON, in whatever order the fields of their objects stand. */
function isSame(before: unknown, after: unknown): boolean {
  const [old, now] = [JSON.stringify(before), JSON.stringify(after)];
  return old === now || (old !== undefined && now !== undefined && isDeepStrictEqual(JSON.parse(old), JSON.parse(now)));
}

/** Returns the resource in a response: the response itself, or its first field that has an id. */
function resourceIn(value: unknown): object | undefined {
  if (!isObject(value)) return undefined;
  if ("id" in value) return value;
  return Object.values(value)
    .filter(isObject)
    .find((field) => "id" in field);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
