/** Times and amounts as people read them, in the reader's zone and spelling. */

const second = 1000;
/** A moment that is this near in the future is one that just was, by the clock of the service or by one of ours that moves every 10 s. */
const clockMs = 12_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** From the largest. */
const units = [
  [day, "d"],
  [hour, "h"],
  [minute, "min"],
  [second, "s"],
] as const;

/** How long ago, in the largest unit that fits: `12 s ago`, `3 min ago`; older than a week, the date. */
export function sinceText(at: string, now: number): string {
  const passed = now - Date.parse(at);
  if (Number.isNaN(passed)) return at;
  if (passed < second / 2 && passed > -clockMs) return "now";
  const far = Math.abs(passed);
  if (far >= 7 * day) return new Date(at).toLocaleDateString(undefined, { dateStyle: "medium" });
  const [size, name] = units.find(([unit]) => far >= unit) ?? [second, "s"];
  const text = `${size === second ? Math.round(far / second) : Math.floor(far / size)} ${name}`;
  return passed < 0 ? `in ${text}` : `${text} ago`;
}

/** A duration in the largest unit that fits, and from a minute on in the next one too: `1 min 35 s`. */
export function durationText(milliseconds: number): string {
  if (milliseconds < 10) return `${Number(milliseconds.toFixed(1))} ms`;
  if (milliseconds < second) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 10 * second) return `${(milliseconds / second).toFixed(1)} s`;
  const at = units.findIndex(([size]) => milliseconds >= size);
  const [size, name] = units[at] ?? [second, "s"];
  if (size === second) return `${Math.floor(milliseconds / second)} s`;
  const [nextSize, nextName] = units[at + 1] ?? [second, "s"];
  const rest = Math.floor((milliseconds % size) / nextSize);
  return `${Math.floor(milliseconds / size)} ${name}${rest === 0 ? "" : ` ${rest} ${nextName}`}`;
}

/** The exact moment, in the reader's zone, with the zone's name. */
export function exactText(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
}

/** A whole number with its thousands apart. */
export function countText(count: number): string {
  return count.toLocaleString();
}

/** A number of things: `1 model call`, `2 model calls`. */
export function countOf(count: number, thing: string, things = `${thing}s`): string {
  return `${countText(count)} ${count === 1 ? thing : things}`;
}

/** A size in the largest unit that fits. */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`;
  if (bytes < 1024 ** 3) return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}
