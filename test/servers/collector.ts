import { createServer } from "node:http";

/** A span as it arrives over the wire, in OTLP's JSON. */
export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: number;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string | number | readonly string[]>>;
  readonly events: readonly string[];
}

/** A collector of traces: OTLP over HTTP. */
export interface Collector extends AsyncDisposable {
  /** What `OTEL_EXPORTER_OTLP_ENDPOINT` names. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The bodies as they came. */
  readonly bodies: readonly string[];
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: string | number;
  readonly arrayValue?: { readonly values: readonly Value[] };
}
type Pairs = readonly { readonly key: string; readonly value: Value }[];

/** Starts one. It returns 404 to anything but traces in JSON. */
export async function startCollector(): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    if (request.url !== "/v1/traces" || request.headers["content-type"] !== "application/json") {
      response.writeHead(404).end();
      return;
    }
    const body = Buffer.concat(pieces).toString();
    bodies.push(body);
    spans.push(...readSpans(body));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The collector has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    spans,
    bodies,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function readSpans(body: string): ReceivedSpan[] {
  // biome-ignore lint/suspicious/noExplicitAny: the wire's JSON, checked by what the tests expect of it.
  const { resourceSpans } = JSON.parse(body) as any;
  // biome-ignore lint/suspicious/noExplicitAny: the same.
  return resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    // biome-ignore lint/suspicious/noExplicitAny: the same.
    scopeSpans.flatMap(({ spans }: any) => spans.map((span: any) => readSpan(span, resource.attributes))),
  );
}

// biome-ignore lint/suspicious/noExplicitAny: the same.
function readSpan(span: any, resource: Pairs): ReceivedSpan {
  return {
    service: String(readPairs(resource)["service.name"]),
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId || null,
    name: span.name,
    kind: span.kind,
    failed: span.status?.code === 2,
    attributes: readPairs(span.attributes ?? []),
    events: (span.events ?? []).map(({ name }: { name: string }) => name),
  };
}

function readPairs(pairs: Pairs): ReceivedSpan["attributes"] {
  return Object.fromEntries(
    pairs.map(({ key, value }) => {
      if (value.arrayValue !== undefined) return [key, value.arrayValue.values.map((one) => one.stringValue ?? "")];
      return [key, value.stringValue ?? Number(value.intValue)];
    }),
  );
}
