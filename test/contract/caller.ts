import type { Form } from "../../src/kernel/errors.ts";
import type { Scene } from "./scene.ts";
import type { Call } from "./world.ts";

/** Makes a call of an operation that succeeds. */
export type Caller = (s: Scene, form: Form) => Call | Promise<Call>;

/** A call that needs nothing. */
export const nothing: Caller = () => ({});

/** A call that names one thing. */
export const idOf =
  (name: string, make: (s: Scene) => Promise<string>): Caller =>
  async (s) => ({ params: { [name]: await make(s) } });
