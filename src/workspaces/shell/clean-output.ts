/** The interpreter's word for a program that it knows of and that is not offered here. */
const notOffered = /^(bash: (\S+): )command not available in browser environments\. Exclude '\2' from .*$/gm;
/** Its advice to whoever embeds it, after a limit that a command met. */
const advice = /, increase executionLimits\.\w+/g;

/** What a command printed, without what the interpreter says to whoever embeds it. */
export function cleanOutput(output: string): string {
  return output.replace(notOffered, "$1command not found").replace(advice, "");
}
