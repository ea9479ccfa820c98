/** Modes of asking for turns that are measured in turn, round after round, so that their ratios hold on a noisy machine. */
import type { Measured } from "./drive.ts";
import { median, printLine } from "./figures.ts";

/** What was measured of each mode, a figure for each round. */
export type Rounds = ReadonlyMap<string, readonly Measured[]>;

/** Measures one mode once, or only warms it up. */
export type Measure = (mode: string, isWarmUp: boolean) => Promise<Measured>;

/** The model itself, which is what turns wait for at the least. */
export const directMode = "direct";
/** The bare endpoint, to which the others are compared. */
export const bareMode = "bare";
/** The same once it has answered turns for a while, beside a service that has just started. */
export const warmBareMode = "bare, warm";

/** Measures the modes in turn, forwards and backwards. A first round, which warms everything up, is not counted. */
export async function warmRounds(modes: readonly string[], count: number, measure: Measure): Promise<Rounds> {
  const rounds = new Map<string, Measured[]>(modes.map((mode) => [mode, []]));
  for (let round = 0; round <= count; round++)
    for (const mode of round % 2 === 0 ? modes : modes.toReversed()) {
      const measured = await measure(mode, round === 0);
      if (round > 0) rounds.get(mode)?.push(measured);
    }
  return rounds;
}

/** An installation that has just started. */
export interface Fresh extends AsyncDisposable {
  readonly measure: Measure;
}

/** Measures one mode of the service from the first moment of a new installation on, as often; then the bare endpoint, cold and warm. */
export async function coldRounds(mode: string, count: number, start: () => Promise<Fresh>): Promise<Rounds> {
  const rounds = new Map<string, Measured[]>([mode, bareMode, warmBareMode].map((name) => [name, []]));
  for (let round = 0; round < count; round++) {
    await using fresh = await start();
    for (const [name, measured] of rounds)
      measured.push(await fresh.measure(name === warmBareMode ? bareMode : name, false));
  }
  return rounds;
}

/** Prints the medians of each mode, and those of the rounds' ratios to the bare endpoint and differences from the model. */
export function printComparison(clients: number, rounds: Rounds): void {
  const bases = [bareMode, warmBareMode].filter((name) => rounds.has(name));
  const direct = rounds.get(directMode);
  const over = direct === undefined ? [] : ["first text over the model", "whole turn over it"];
  const head = [
    ...["clients", "mode", "turns/s", ...bases.map((name) => `of ${name}`)],
    ...["first text", "whole turn", ...over, "failed"],
  ];
  printLine(`\n| ${head.join(" | ")} |\n|${"---|".repeat(head.length)}`);
  for (const [mode, all] of rounds) {
    const middle = (of: (measured: Measured, round: number) => number) => median(all.map(of));
    const ratios = bases.map((name) =>
      middle(({ turnsPerSecond }, round) => turnsPerSecond / (rounds.get(name)?.[round]?.turnsPerSecond ?? 0)),
    );
    const differences =
      direct === undefined
        ? []
        : [
            middle(({ firstTextMs }, round) => firstTextMs - (direct[round]?.firstTextMs ?? 0)),
            middle(({ turnMs }, round) => turnMs - (direct[round]?.turnMs ?? 0)),
          ];
    const cells = [
      ...[String(clients), mode, middle(({ turnsPerSecond }) => turnsPerSecond).toFixed(0)],
      ...ratios.map((ratio) => ratio.toFixed(2)),
      ...[middle(({ firstTextMs }) => firstTextMs), middle(({ turnMs }) => turnMs), ...differences].map(showMs),
      String(all.reduce((sum, { failed }) => sum + failed, 0)),
    ];
    printLine(`| ${cells.join(" | ")} |`);
  }
}

const showMs = (ms: number) => `${ms.toFixed(1)} ms`;
