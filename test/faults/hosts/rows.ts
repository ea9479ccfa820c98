import { drawPanels } from "../../../loadtest/picture.ts";
import { inRepository } from "../../harness/repository.ts";
import type { Sample } from "./traffic.ts";

/** A promise of docs/promises.md, and what came of it. */
export interface Row {
  readonly name: string;
  readonly fault: string;
  readonly promise: string;
  /** What was measured, with its unit. */
  figure: string;
  /** What was seen besides. */
  seen: string;
  held: boolean;
  samples?: readonly Sample[];
  /** When the fault began and ended, in milliseconds of the samples. */
  marks?: readonly number[];
}

/** The rows as a table in Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ name, fault, promise, figure, seen, held }) =>
      `| \`${name}\` | ${fault} | ${promise} | ${held ? figure : `**not held** ${figure}`} | ${seen} |`,
  );
  return ["| row | fault | what is promised | figure | seen |", "|---|---|---|---|---|", ...lines].join("\n");
}

/** Where the picture of the rows lies. */
export const picturePath = inRepository("docs/promises.svg");

/** Streams and turns over each fault, as a picture. */
export function pictureOf(rows: readonly Row[]): string {
  const panels = rows.flatMap(({ fault, samples, marks = [] }) => {
    if (samples === undefined) return [];
    const line = (name: string, y: (sample: Sample) => number) => ({
      name,
      points: samples.map((sample) => ({ x: sample.atMs / 1000, y: y(sample) })),
    });
    return {
      title: fault,
      lines: [
        line("streams open", ({ open }) => open),
        line("with words in the last second", ({ live }) => live),
        line("turns ended whole a second", ({ whole }) => whole),
        line("ended otherwise or refused", ({ failed }) => failed),
      ],
      marks: marks.map((at) => at / 1000),
    };
  });
  return drawPanels("Streams and turns over each fault (dashed: it begins and ends)", panels, {
    unit: "s",
    scale: "own",
  });
}
