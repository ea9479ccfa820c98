/** One line of Prometheus' text. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of a scrape. Throws for a line that is none. */
export function samplesOf(text: string): Sample[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name, labels = "", value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) throw new Error(`No sample: ${line}`);
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, text]);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

/** The value of the sample that has these labels; undefined when there is none. */
export function sampleOf(
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  return samplesOf(text).find(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value;
}

/** The names of all metrics that a scrape declares, empty ones included. */
export function metricsOf(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string);
}
