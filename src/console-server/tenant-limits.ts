import { Type } from "@sinclair/typebox";
import { Change, Nullable } from "../kernel/http/request-fields.ts";
import { integerMax, weightMax } from "../tenants/store.ts";

const limit = (maximum: number) => Nullable(Type.Integer({ minimum: 0, maximum }));

/** What an operator may change of a tenant in the console; null lifts a limit. */
export const TenantLimits = Change("TenantLimits", {
  usageCredit: limit(Number.MAX_SAFE_INTEGER),
  quotaTurnsPerDay: limit(integerMax),
  rateLimit: limit(integerMax),
  runningTurns: limit(integerMax),
  queuedTurns: limit(integerMax),
  storedMib: limit(integerMax),
  weight: Type.Integer({ minimum: 1, maximum: weightMax }),
});
