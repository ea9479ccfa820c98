import { lockNameOf } from "../kernel/http/idempotency.ts";
import { tokensSealedFor } from "../mcp-connections/auth/credentials.ts";
import { flowSealedFor } from "../mcp-connections/auth/sign-in-store.ts";
import { previousSecretSealedFor } from "../webhooks/secret.ts";

/** A column that holds what `Sealer.seal` made. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** Further columns that name what a value was sealed for. */
  readonly beside?: readonly string[];
  /** Returns what the value of this row was sealed for; fields as `Sql` names them. */
  readonly sealedFor: (row: Readonly<Record<string, unknown>>) => string;
}

const ownId = { key: ["id"], sealedFor: ({ id }) => String(id) } as const satisfies Partial<SealedColumn>;

/** Every sealed column of the schema. A test compares this with the database: such a column's name begins with `sealed_`. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: "providers", column: "sealed_key", ...ownId },
  { table: "mcp_connections", column: "sealed_credentials", ...ownId },
  {
    table: "mcp_connections",
    column: "sealed_tokens",
    key: ["id"],
    sealedFor: ({ id }) => tokensSealedFor(String(id)),
  },
  {
    table: "mcp_sign_ins",
    column: "sealed_flow",
    key: ["digest"],
    beside: ["mcp_connection_id"],
    sealedFor: ({ mcpConnectionId }) => flowSealedFor(String(mcpConnectionId)),
  },
  { table: "merchant_connections", column: "sealed_credential", ...ownId },
  { table: "chat_connections", column: "sealed_credentials", ...ownId },
  { table: "webhooks", column: "sealed_secret", ...ownId },
  {
    table: "webhooks",
    column: "sealed_previous_secret",
    key: ["id"],
    sealedFor: ({ id }) => previousSecretSealedFor(String(id)),
  },
  {
    table: "idempotency_keys",
    column: "sealed_body",
    key: ["tenant_id", "key"],
    sealedFor: ({ tenantId, key }) => lockNameOf({ tenantId: String(tenantId), key: String(key) }),
  },
];
