import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { bodyText, type LoopbackServer, startLoopback } from "./loopback.ts";

/** Where a silent provider falls silent, or `comments`: it sends nothing but comments for a while, then it answers. */
export type Silence = "at once" | "after the headers" | "in its answer" | "in an error" | "comments";

/** A model provider that sends nothing more from some point on. */
export interface SilentServer extends Pick<LoopbackServer, "stop"> {
  /** The base URL for a provider. */
  readonly url: string;
  /** Connections on which a request was silent and that are open. */
  readonly open: ReadonlySet<ServerResponse>;
}

const word = (content: string) =>
  `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content } }] })}\n\n`;
const end = `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;

/**
 * Starts one. `silenceOf` gets the body of each request; null: it answers `Fine.` at
 * once, without saying its usage. Comments come every 300 ms, for `commentsMs`.
 */
export async function startSilent(
  silenceOf: (body: string) => Silence | null,
  { commentsMs = 0 }: { readonly commentsMs?: number } = {},
): Promise<SilentServer> {
  const open = new Set<ServerResponse>();
  const { origin, stop } = await startLoopback(async (request, response) => {
    const body = await bodyText(request);
    open.add(response);
    response.once("close", () => open.delete(response));
    const silence = silenceOf(body);
    if (silence === "at once") return;
    response.writeHead(silence === "in an error" ? 400 : 200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    if (silence === "in its answer") response.write(word("One "));
    if (silence === "in an error") response.write('{"error":');
    if (silence !== null && silence !== "comments") return;
    for (let at = 0; silence === "comments" && at < commentsMs; at += 300) {
      response.write(": still there\n\n");
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 300)), once(response, "close")]);
    }
    response.end(word("Fine.") + end);
  });
  return {
    url: `${origin}/v1`,
    open,
    stop,
  };
}
