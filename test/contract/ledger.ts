import type { Form } from "../../src/kernel/errors.ts";
import { type Contract, errorsOf, formsOf, spelled } from "./contract.ts";
import { operations } from "./table.ts";
import { unprovoked } from "./unprovoked.ts";

const key = (op: string, row: string, form: Form) => `${op}: ${row} in form ${form}`;

/** Every error that some operation may return in some form. */
function all(): string[] {
  return operations.flatMap((contract) =>
    errorsOf(contract).flatMap((row) => formsWith(contract, row).map((form) => key(contract.op, row, form))),
  );
}

/** The forms in which an operation can meet an error. */
export function formsWith(contract: Contract, row: string): Form[] {
  return formsOf(contract).filter((form) => spelled(row, form) !== null);
}

/** Which errors have been met. */
export class Ledger {
  readonly #met = new Set<string>();

  note(op: string, row: string, form: Form): void {
    this.#met.add(key(op, row, form));
  }

  get total(): number {
    return all().length;
  }

  get met(): number {
    return all().filter((known) => this.#met.has(known)).length;
  }

  /** Errors that were not met and have no reason for it. */
  unexcused(): string[] {
    const excused = new Set(unprovoked.flatMap(({ op, row }) => [key(op, row, "a"), key(op, row, "b")]));
    return all().filter((known) => !this.#met.has(known) && !excused.has(known));
  }

  /** Excuses for errors that the table does not have, or that were met after all. */
  idleExcuses(): string[] {
    const known = new Set(all());
    return unprovoked
      .filter(({ op, row }) => {
        const keys = [key(op, row, "a"), key(op, row, "b")].filter((one) => known.has(one));
        return keys.length === 0 || keys.some((one) => this.#met.has(one));
      })
      .map(({ op, row }) => `${op}: ${row}`);
  }
}
