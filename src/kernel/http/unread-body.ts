import { clearTimeout, setTimeout } from "node:timers";
import { unreadBodyMsMax, unreadBodySilenceMsMax } from "../limits.ts";

/**
 * Returns the response to a request, when the body of a refused one (a status of 400 or
 * more) that was not read is over. What comes of it is dropped: a connection that is closed while its
 * client still sends may lose the response. A body that sends nothing for
 * `unreadBodySilenceMsMax`, or lasts longer than `unreadBodyMsMax`, gets `Connection: close`, so
 * that a body which was announced and never comes holds no connection.
 */
export function endUnreadBody(request: Request, response: Response): Response | Promise<Response> {
  if (response.status < 400 || request.bodyUsed || request.body === null || request.body.locked) return response;
  if (response.headers.get("connection") === "close") return response;
  return endBody(request.body, response);
}

async function endBody(body: ReadableStream<Uint8Array>, response: Response): Promise<Response> {
  const reader = body.getReader();
  let isOver = false;
  const stop = () => {
    isOver = true;
    // The read that waits returns then.
    reader.cancel().catch(() => {});
  };
  const silence = setTimeout(stop, unreadBodySilenceMsMax);
  const whole = setTimeout(stop, unreadBodyMsMax);
  try {
    while (!(await reader.read()).done) silence.refresh();
  } catch {
    // The client is gone, or its body is malformed.
    isOver = true;
  } finally {
    clearTimeout(silence);
    clearTimeout(whole);
  }
  if (isOver) response.headers.set("Connection", "close");
  return response;
}
