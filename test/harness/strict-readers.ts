/**
 * What the AI SDK's clients of versions 5 and 6 refuse, by their published code (`uiMessageChunkSchema` and
 * `processUIMessageStream` of ai 5.0.277 and 6.0.326): a chunk of an unknown type ends the stream with an error, and so
 * does a delta, an end or a result of something that has not begun.
 */

type Chunk = Readonly<Record<string, unknown>> & { readonly type: string };

const known5 = [
  ...["text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end", "error"],
  ...["tool-input-start", "tool-input-delta", "tool-input-available", "tool-input-error"],
  ...["tool-output-available", "tool-output-error", "source-url", "source-document", "file"],
  ...["start-step", "finish-step", "start", "finish", "abort", "message-metadata"],
];
const known: Readonly<Record<5 | 6, ReadonlySet<string>>> = {
  5: new Set(known5),
  6: new Set([...known5, "tool-approval-request", "tool-output-denied"]),
};
const finishReasons = ["stop", "length", "content-filter", "tool-calls", "error", "other"];

/** Returns what a client of that version would refuse of a stream; empty when it reads all of it. */
export function refusedBy(version: 5 | 6, chunks: readonly object[]): string[] {
  const texts = new Set<string>();
  const inputs = new Set<string>();
  const calls = new Map<string, boolean>();
  const refused: string[] = [];
  for (const one of chunks) {
    const chunk = one as Chunk;
    const { type, id, toolCallId, dynamic } = chunk as Chunk & { id: string; toolCallId: string; dynamic?: boolean };
    const refuse = () => refused.push(JSON.stringify(chunk));
    if (!known[version].has(type) && !type.startsWith("data-")) refuse();
    const [kind, what] = type.split(/-(?=[^-]*$)/) as [string, string];
    if (kind === "text" || kind === "reasoning") {
      const key = `${kind}:${id}`;
      if (what === "start") texts.add(key);
      else if (!texts.has(key)) refuse();
      if (what === "end") texts.delete(key);
    }
    if (type === "finish-step") texts.clear();
    if (type === "tool-input-start") inputs.add(toolCallId);
    if (type === "tool-input-delta" && !inputs.has(toolCallId)) refuse();
    if (/^tool-input-(start|available|error)$/.test(type)) {
      // Version 5 makes two calls of one that is dynamic at times.
      if (version === 5 && (calls.get(toolCallId) ?? dynamic === true) !== (dynamic === true)) refuse();
      calls.set(toolCallId, dynamic === true);
    }
    if (/^tool-(output-|approval-request)/.test(type)) {
      if (!calls.has(toolCallId)) refuse();
      // Version 5 looks for a dynamic call among those alone.
      if (dynamic === true && calls.get(toolCallId) === false) refuse();
    }
    if (type === "finish" && chunk.finishReason !== undefined && !finishReasons.includes(String(chunk.finishReason)))
      refuse();
    const metadata = chunk.providerMetadata;
    if (metadata !== undefined && !Object.values(metadata as object).every((said) => typeof said === "object" && said))
      refuse();
  }
  return refused;
}
