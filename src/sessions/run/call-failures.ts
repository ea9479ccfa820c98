import { RetryError } from "ai";
import { recordedFailuresMax } from "../../kernel/limits.ts";
import { type FailedCall, vendorFailure } from "../../model/vendor-failure.ts";
import type { ModelProvider } from "../../providers/client.ts";
import type { StepFailure } from "../state/turn-step.ts";

/** Failures that are known by their errors: those of one call, in all ways in which its request was sent. */
const rememberedMax = 20;

/**
 * What vendors said of the failed calls of a claim, without credentials. Of the operator's own provider nothing is kept,
 * because its account is no tenant's.
 */
export class CallFailures {
  #count: number;
  readonly #newest: { readonly error: unknown; readonly list: StepFailure[]; failure: StepFailure }[] = [];

  /** `count`: those that the turn's record has already. */
  constructor(count: number) {
    this.#count = count;
  }

  /** Adds a failure to the list of its step. */
  add(
    list: StepFailure[],
    failed: FailedCall,
    made: { readonly provider: Pick<ModelProvider, "id" | "apiKey">; readonly model: string; readonly at: string },
  ): void {
    const { provider, model, at } = made;
    const said = provider.id === null ? null : vendorFailure(failed, provider.apiKey);
    if (provider.id === null || said === null) return;
    const failure = { providerId: provider.id, model, ...said, at };
    this.#newest.push({ error: failed.error, list, failure });
    if (this.#newest.length > rememberedMax) this.#newest.shift();
    if (this.#count >= recordedFailuresMax) return;
    this.#count += 1;
    list.push(failure);
  }

  /** The turn fails with this error: where it is that of a call, that call is why. */
  endWith(error: unknown): void {
    const cause = RetryError.isInstance(error) ? error.lastError : error;
    const known = this.#newest.findLast((one) => one.error === cause);
    if (known === undefined) return;
    const { list, failure } = known;
    const place = list.indexOf(failure);
    // It is kept however many there are.
    list.splice(place < 0 ? list.length : place, 1, { ...failure, endedTurn: true });
  }
}
