import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";

/** The message that a client of the AI SDK makes of a stream, as JSON has it; null where it makes none. It throws at an `error` chunk where `terminateOnError` says so. */
export async function assembled(
  chunks: readonly object[],
  { terminateOnError = false }: { readonly terminateOnError?: boolean } = {},
): Promise<UIMessage | null> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk as UIMessageChunk);
      controller.close();
    },
  });
  let last: UIMessage | null = null;
  for await (const message of readUIMessageStream<UIMessage>({ stream, terminateOnError })) last = message;
  return JSON.parse(JSON.stringify(last));
}
