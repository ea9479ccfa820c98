import { writeSync } from "node:fs";

/** Tells the one who pressed Ctrl-C what the process still waits for, and for how long. A terminal that is gone is no fault. */
export function tellDraining(turns: number, limitMs: number): void {
  const running = turns === 1 ? "1 turn" : `${turns} turns`;
  const text =
    turns === 0 ? "Stopping.\n" : `Draining: ${running}, up to ${limitMs / 1000} s. Ctrl-C again stops at once.\n`;
  try {
    // `process.stdout` would report a terminal that is gone later, as an error that ends the process.
    writeSync(1, text);
  } catch {
    // It is not read any more.
  }
}
