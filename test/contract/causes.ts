import type { Form } from "../../src/kernel/errors.ts";
import type { ApiResponse } from "../harness/harness.ts";
import { callOf } from "./calls.ts";
import type { Scene } from "./scene.ts";
import { type Call, send } from "./world.ts";

/** Makes an operation meet one of its errors. */
export interface Cause {
  readonly ops: readonly string[];
  /** The error as the table spells it. */
  readonly row: string;
  /** Changes its tenant, so it needs one of its own. */
  readonly alone?: true;
  meet(s: Scene, form: Form, op: string): Promise<ApiResponse>;
}

type Change = (call: Call, s: Scene, form: Form) => Partial<Call> | Promise<Partial<Call>>;

/** A call that would succeed, with some parts changed; a body's fields are merged. */
export async function ask(s: Scene, op: string, form: Form, change: Partial<Call> = {}): Promise<ApiResponse> {
  const call = await callOf(s, op, form);
  const isFields = (body: unknown) => typeof body === "object" && body?.constructor === Object;
  const body =
    isFields(call.body) && isFields(change.body)
      ? { ...(call.body as object), ...(change.body as object) }
      : change.body;
  const params = change.params === undefined ? {} : { params: { ...call.params, ...change.params } };
  return send(s.t, op, form, { ...call, ...change, ...params, ...(change.body === undefined ? {} : { body }) });
}

/** A cause that one changed part of the call makes. */
export function changed(ops: readonly string[], row: string, change: Change): Cause {
  return {
    ops,
    row,
    async meet(s, form, op) {
      return ask(s, op, form, await change(await callOf(s, op, form), s, form));
    },
  };
}

/** An id of this shape that nothing has. */
export const missing = (prefix: string): string => `${prefix}_${"0".repeat(24)}`;
