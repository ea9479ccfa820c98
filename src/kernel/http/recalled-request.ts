import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { RecalledKey } from "../auth/recalled-keys.ts";
import type { Ctx } from "../context.ts";
import { ApiError, type Form, spell } from "../errors.ts";
import { nothing, pointingIn, readBody, type SentRequest } from "./checked-body.ts";
import type { FormChange } from "./form.ts";
import { queryFields } from "./query-fields.ts";
import { rememberForm, requestIdOf } from "./request.ts";
import { validateFields } from "./validate.ts";

/** What is known of a request whose API key was recalled, and not looked up: everything checked, in form B. */
export interface RecalledInput<P extends TObject, B extends TSchema, A extends TSchema = B> {
  readonly key: RecalledKey;
  readonly form: Form;
  readonly params: Static<P>;
  readonly body: Static<B> | Static<A>;
  readonly request: Request;
  readonly requestId: string;
}

/** What of an operation concerns such a request. */
interface RecalledRules<P extends TObject, B extends TSchema, A extends TSchema> {
  readonly params?: P;
  readonly body?: B | "raw";
  readonly bodyInA?: A;
  readonly change?: FormChange;
  recalled?(input: RecalledInput<P, B, A>): Promise<(() => Promise<Response> | Response) | null>;
}

/**
 * Returns the response to a request whose API key is recalled, where the operation can do its work
 * in a statement that looks the key up (`Operation.recalled`). Null: nothing was done, and the request goes the usual way, on which it is
 * refused what it has to be refused, once it is known who asks.
 */
export async function tryRecalled<P extends TObject, B extends TSchema, A extends TSchema>(
  ctx: Ctx,
  spec: RecalledRules<P, B, A>,
  { request, readJsonBody, params, asked }: SentRequest,
): Promise<Response | null> {
  if (spec.recalled === undefined || request.headers.has("idempotency-key")) return null;
  const key = ctx.authenticator.recall(request.headers.get("authorization"));
  if (key === null) return null;
  const form = asked ?? key.tenant.form;
  rememberForm(request, form);
  // One too many is refused here: on the usual way it counts for the tenant already, and would not be counted again.
  await ctx.slots.identify(request, key.tenant);
  ctx.slots.openStream(request, key.tenant.id);
  const respond = await unlessRefused(form, async () => {
    const checkedParams = validateFields(spec.params ?? nothing, Object.entries(params)) as Static<P>;
    validateFields(nothing, queryFields(request.url));
    const sent = await readBody(spec, { request, readJsonBody, form, tenantId: key.tenant.id });
    const body = sent as Static<B> | Static<A>;
    return (
      spec.recalled?.({ key, form, params: checkedParams, body, request, requestId: requestIdOf(request) }) ?? null
    );
  });
  return respond === null ? null : pointingIn(form, spec.change, async () => respond());
}

/** Returns what `work` returns; null where it throws a 4xx. */
async function unlessRefused<T>(form: Form, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError && spell(error.reason, form).status < 500) return null;
    throw error;
  }
}
