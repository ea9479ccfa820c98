/**
 * Receives a webhook, verifies what comes by Standard Webhooks, and prints each event once. The
 * environment names the secret that `POST /v1/webhooks` responded with; it listens on port 3500, or on
 * the one that its first word names, of which 0 is a free one.
 */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

/** An event's body: what happened, when, to what, and the status that it has now. */
interface ParleyEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly data: { readonly ids: Readonly<Record<string, string | null>>; readonly status: string };
}

const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? "");
/** Ids of messages that have come; a real receiver keeps them in its database, for three days. */
const seen = new Set<string>();

/** Takes a message in. Throws an error when it is not from Parley, or too old. */
function receive(body: string, headers: IncomingHttpHeaders): void {
  // The text as it came: parsed and written anew it would have another signature.
  const event = webhook.verify(body, headers as Record<string, string>) as ParleyEvent;
  const id = String(headers["webhook-id"]);
  // The same message may come twice, and messages may come in any order.
  if (seen.has(id)) return;
  seen.add(id);
  process.stdout.write(`${event.timestamp} ${event.type} ${event.data.status} ${JSON.stringify(event.data.ids)}\n`);
}

const server = createServer(async (request, response) => {
  try {
    receive(await text(request), request.headers);
    // Any 2xx within 15 s; what takes longer is done after the response.
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
});

server.listen(Number(process.argv[2] ?? 3500), "127.0.0.1", () => {
  process.stdout.write(`The receiver listens on http://127.0.0.1:${(server.address() as AddressInfo).port}/\n`);
});
