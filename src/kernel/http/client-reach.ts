import type { ClientScope } from "../auth/client-scope.ts";
import type { Sql } from "../database/client.ts";
import type { IdOf } from "../ids.ts";

/** What a request with a client token asks of an operation, checked and in form B. */
export interface ClientRequest<P, Q, B> {
  readonly client: ClientScope;
  readonly tenantId: IdOf<"tenant">;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly sql: Sql;
}

/** What the operation is asked in place of that. */
export interface Narrowed<Q, B> {
  readonly query?: Q;
  readonly body?: B;
  /** The response, where nothing of what was asked for is in the token's reach. */
  readonly response?: unknown;
}
