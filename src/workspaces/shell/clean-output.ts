/** The interpreter's message for a program that it knows and that is not available here. */
const notOffered = /^(bash: (\S+): )command not available in browser environments\. Exclude '\2' from .*$/gm;
/** Its advice to the embedding program, after a limit was reached. */
const advice = /, increase executionLimits\.\w+/g;

/** Returns what a command printed, without the interpreter's advice to the embedding program. */
export function cleanOutput(output: string): string {
  return output.replace(notOffered, "$1command not found").replace(advice, "");
}
