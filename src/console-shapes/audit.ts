/** What the filters of the audit offer, as it has happened in the tenant: `GET /console/api/audit-choices`. */
export interface AuditChoices {
  readonly actions: readonly string[];
  readonly actors: readonly AuditedActor[];
}

/** What the resource of an audit event is called now: `GET /console/api/audit-names`. */
export interface AuditedName {
  readonly auditEventId: string;
  readonly name: string;
}

/** Somebody who did something. */
export interface AuditedActor {
  readonly type: string;
  readonly id: string;
  /** Null where there is none any more. */
  readonly name: string | null;
}
