import { cleanText } from "../../messages/text.ts";
import { boundText } from "../../tools/bounded.ts";
import type { CommandOutcome } from "./keep.ts";

/** The share of a result that each output may take, as JSON. */
const stdoutBytesMax = 192 * 1024;
const stderrBytesMax = 48 * 1024;

/** An outcome in the size that a result may have. */
export interface ShownOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly durationMs: number;
}

/** Returns an outcome as it is shown: only the beginning of long output. With `notes`, these stand at the end of `stderr`, also where that is cut. */
export function shownOutcome(outcome: CommandOutcome, notes: readonly string[]): ShownOutcome {
  const stdout = boundText(cleanText(outcome.stdout), stdoutBytesMax);
  const added = notes.map((note) => `${note}\n`).join("");
  const room = stderrBytesMax - Buffer.byteLength(JSON.stringify(added));
  const stderr = boundText(cleanText(outcome.stderr), Math.max(0, room));
  const between = added !== "" && stderr.text !== "" && !stderr.text.endsWith("\n") ? "\n" : "";
  return {
    exitCode: outcome.exitCode,
    stdout: stdout.text,
    stderr: `${stderr.text}${between}${cleanText(added)}`,
    truncated: outcome.isCut || stdout.cut || stderr.cut,
    durationMs: outcome.durationMs,
  };
}
