import type { ApiResponse, TestTenant } from "./harness.ts";

/** What a client token is asked for with. */
interface TokenFields {
  readonly agentId: string;
  readonly userId?: string;
  readonly sessionId?: string;
  readonly expiresInSeconds?: number;
  readonly can?: readonly ("approvals" | "clientTools" | "forks")[];
  readonly origins?: readonly string[];
}

/** A client token, and the tenant as one who has nothing else. */
export interface TokenHolder {
  readonly id: string;
  readonly token: string;
  readonly expiresAt: string;
  readonly call: TestTenant["call"];
}

/** Makes a client token, of the user `anna` unless it says otherwise. */
export async function makeClientToken(t: TestTenant, fields: TokenFields): Promise<TokenHolder> {
  const made: ApiResponse = await t.call("POST", "/v1/client-tokens", { body: { userId: "anna", ...fields } });
  if (made.status !== 201) throw new Error(`${made.status} ${JSON.stringify(made.body)}`);
  const { id, token, expiresAt } = made.body;
  return { id, token, expiresAt, call: (method, path, options = {}) => t.call(method, path, { token, ...options }) };
}
