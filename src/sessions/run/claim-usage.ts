import { type ExceededBudget, exceededText, findExceeded } from "../../budgets/exceeded.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { turnPatienceMs } from "../../kernel/limits.ts";
import type { ModelMeter } from "../../model/call-meter.ts";
import { costOfCall, type PricedModel } from "../../model/price.ts";
import type { CallUsage } from "../../model/token-counts.ts";
import type { OwnPrices } from "../../prices/own-prices.ts";
import { ownPricesOf } from "../../prices/store.ts";
import type { ModelProvider } from "../../providers/client.ts";
import { addCost, addTokens } from "../../usage/tokens.ts";
import { type CompletedStep, writeCheckpoint } from "../state/checkpoint.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { claimKeyOf } from "../state/claimed-turn.ts";
import { type Allowance, creditOf, noteUsage } from "../state/spending.ts";
import { type ModelUsage, noUsage, type TurnUsage } from "../state/turn-end.ts";

/** The tenant's usage credit is spent: the turn may make no further model call. */
export class CreditSpentError extends Error {
  override readonly name = "CreditSpentError";
}

/** A budget that counts the turn is used up: the turn may make no further model call. */
export class BudgetSpentError extends Error {
  override readonly name = "BudgetSpentError";
  readonly budget: ExceededBudget;

  constructor(budget: ExceededBudget) {
    super(exceededText(budget));
    this.budget = budget;
  }
}

/** A model by which calls are made. */
type UsedModel = Pick<ModelUsage, "provider" | "providerType" | "model">;

/**
 * What a claim uses, and whether it may use more.
 *
 * For a tenant with a usage credit, what a model call used is written into the turn's row
 * and taken from the credit in one statement, before the tools of that call run and before
 * the next call; the statement that ends the claim writes only the rest. So the row always
 * says what was taken, whatever happens to the worker. A tenant without a credit costs no
 * statement: all is written with the checkpoints of the turn's steps, and with the end.
 *
 * Of a tenant with budgets the same is written before the next call, and its budgets are asked; before the first call
 * the claim has asked them.
 */
export class ClaimUsage implements ModelMeter {
  readonly #sql: Sql;
  readonly #turn: ClaimedTurn;
  readonly #onGone: () => void;
  #rest: TurnUsage = noUsage;
  #other: UsedModel | null = null;
  /** By which model the calls are made now, and where: by that they are priced. */
  #priced: PricedModel | null = null;
  /** The tenant's own prices as last heard of, and their version; null: it has none. */
  #prices: OwnPrices | null = null;
  #pricesVersion = 0;
  /** Model calls that the row has. */
  #callsWritten: number;
  #tokens: number;
  /** As last heard of; null is unlimited. */
  #credit: number | null;
  /** As last heard of. */
  #hasBudgets: boolean;
  #isOverBudget: boolean;
  /** Whether credit and budgets were heard of just now. */
  #isFresh = true;
  #writing: Promise<void> | null = null;
  #isClosed = false;

  /** `onGone` is called when the row belongs to another claim by now. */
  constructor(sql: Sql, turn: ClaimedTurn, onGone: () => void) {
    this.#sql = sql;
    this.#turn = turn;
    this.#onGone = onGone;
    this.#callsWritten = turn.modelCalls;
    this.#tokens = turn.usedTokens;
    this.#credit = turn.usageCredit;
    this.#hasBudgets = turn.hasBudgets;
    this.#isOverBudget = turn.isOverBudget;
  }

  /**
   * Returns what the turn's row does not have yet, for the statement that ends the claim.
   * Waits for a write that is under way and makes no further one: tools that were given up
   * may go on, and what they write would be counted twice.
   */
  async close(): Promise<TurnUsage> {
    this.#isClosed = true;
    await this.#writing?.catch(() => {});
    return this.#rest;
  }

  /** Model calls of the turn, those of earlier claims included. */
  get modelCalls(): number {
    return this.#callsWritten + this.#rest.modelCalls;
  }

  /** Input and output tokens of the turn, those of earlier claims included. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Reads the tenant's own prices where there are newer ones: once in a process, and never for a tenant without any. */
  async readPrices(version: number = this.#turn.pricesVersion): Promise<void> {
    if (version === this.#pricesVersion) return;
    this.#prices = await this.#patiently(() => ownPricesOf(this.#sql, this.#turn.tenantId, version));
    this.#pricesVersion = version;
  }

  /** Notes by which provider and model the calls are made. */
  uses({ id, providerType, baseUrl }: ModelProvider, model: string): void {
    this.#priced = { providerId: id, providerType, baseUrl, model };
    this.#rest = { ...this.#rest, provider: id, providerType, model };
  }

  /** The calls from now on are made by this model: the agent's own, or another one. */
  callsBy({ id, providerType, baseUrl }: ModelProvider, model: string, isOwn: boolean): void {
    this.#priced = { providerId: id, providerType, baseUrl, model };
    this.#other = isOwn ? null : { provider: id, providerType, model };
  }

  /** A model call has ended. */
  readonly onCall = (usage: CallUsage): void => {
    const { modelCalls, estimated, others } = this.#rest;
    const cost =
      this.#priced === null
        ? { costPico: null, costComplete: false }
        : costOfCall(this.#priced, usage, Date.now(), this.#prices);
    this.#tokens += usage.inputTokens + usage.outputTokens;
    this.#rest = {
      ...this.#rest,
      ...addTokens(this.#rest, usage),
      ...addCost(this.#rest, cost),
      modelCalls: modelCalls + 1,
      estimated: estimated || usage.estimated,
      others: this.#other === null ? others : [...others, { ...this.#other, ...usage, ...cost }],
    };
  };

  /**
   * Asks credit and budgets before a model call, at the beginning what the claim read of them.
   * Rejects with `CreditSpentError` or `BudgetSpentError` when one is spent.
   */
  readonly beforeCall = async (): Promise<void> => {
    if (this.#credit === null && !this.#hasBudgets) return;
    const isFresh = this.#isFresh && this.#rest.modelCalls === 0;
    if (this.#rest.modelCalls > 0) await this.#writeOnce();
    else if (!isFresh && this.#credit !== null)
      this.#credit = await this.#patiently(() => creditOf(this.#sql, this.#turn.tenantId));
    this.#isFresh = false;
    if (this.#credit !== null && this.#credit <= 0) throw new CreditSpentError("The usage credit is spent.");
    await this.#askBudgets(isFresh && this.#callsWritten === this.#turn.modelCalls);
  };

  /** `isAsked`: the claim has asked just now, and what is used up is looked at once more, because it may be deleted or raised. */
  async #askBudgets(isAsked: boolean): Promise<void> {
    if (!this.#hasBudgets || (isAsked && !this.#isOverBudget)) return;
    const exceeded = await this.#patiently(() => findExceeded(this.#sql, this.#turn));
    if (exceeded !== null) throw new BudgetSpentError(exceeded);
  }

  /** Asks the credit before calls that people decided on: they may have waited for days. */
  readonly beforeDecided = (): Promise<void> => this.beforeCall();

  /** Writes what the row does not have yet, and takes it from the credit; nothing for a tenant without one. */
  async write(): Promise<void> {
    if (this.#turn.usageCredit === null) return;
    await this.#writeOnce();
  }

  async #writeOnce(): Promise<void> {
    if (this.#isClosed) return;
    this.#isFresh = false;
    if (this.#writing === null && this.#rest.modelCalls === 0) return;
    this.#writing ??= this.#writeRest().finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  /**
   * Writes a completed step, the one after `stepsDone` others, with what the row does not have
   * yet. Does nothing when the claim has ended.
   */
  async writeStep(stepsDone: number, step: Omit<CompletedStep, "usage">): Promise<void> {
    await this.#writing;
    if (this.#isClosed) return;
    const claim = { ...claimKeyOf(this.#turn), tenantId: this.#turn.tenantId, stepsDone };
    this.#writing = this.#writeWith((usage) => writeCheckpoint(this.#sql, claim, { ...step, usage })).finally(() => {
      this.#writing = null;
    });
    await this.#writing;
    this.#isFresh = true;
  }

  #writeRest(): Promise<void> {
    const row = { ...claimKeyOf(this.#turn), tenantId: this.#turn.tenantId, modelCalls: this.#callsWritten };
    // Said again after a lost connection, it changes nothing: the row's model calls have risen.
    return this.#writeWith((usage) => noteUsage(this.#sql, row, usage));
  }

  async #writeWith(write: (usage: TurnUsage) => Promise<Allowance>): Promise<void> {
    const written = this.#rest;
    const { credit, hasBudgets, pricesVersion, isGone } = await this.#patiently(() => write(written));
    if (isGone) this.#onGone();
    this.#credit = credit;
    this.#hasBudgets = hasBudgets;
    this.#callsWritten += written.modelCalls;
    const { modelCalls, others, costPico } = this.#rest;
    const costLeft = costPico === null ? null : costPico - (written.costPico ?? 0);
    this.#rest = {
      ...this.#rest,
      ...addTokens(this.#rest, written, -1),
      // What is complete is asked of the turn's row, which knows what was not.
      costPico: modelCalls === written.modelCalls ? null : costLeft,
      costComplete: modelCalls === written.modelCalls || this.#rest.costComplete,
      others: others.slice(written.others.length),
      modelCalls: modelCalls - written.modelCalls,
    };
    await this.readPrices(pricesVersion);
  }

  #patiently<T>(query: () => PromiseLike<T>): Promise<T> {
    return retryWhileUnavailable(query, { limitMs: turnPatienceMs, retryIf: isUnavailable });
  }
}
