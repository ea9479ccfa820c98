import { AsyncLocalStorage } from "node:async_hooks";
import type { Span } from "@opentelemetry/api";
import { recordWith } from "./trace.ts";

/** Spans that wait for the collector at most; what comes beyond is dropped, so that a collector that is away costs no memory. */
const waitingSpansMax = 4_096;
/** Spans of one delivery, which is at most so long after a span's end, in milliseconds. */
const batchSpansMax = 512;
const batchEveryMs = 1_000;
/** A collector has this long to take a delivery, in milliseconds. */
const deliveryMsMax = 5_000;
/** An attribute is cut at this many characters; where contents are recorded, at as many as those may have. */
const attributeCharactersMax = 1_024;
const contentAttributeCharactersMax = 65_536;
/** Spans with contents may wait for less, so that a collector that is away costs at most 128 MiB. */
const waitingContentSpansMax = 512;
const contentBatchSpansMax = 32;

/** Where traces go (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`), and whether with contents (`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`). */
export interface Collector {
  /** Without `/v1/traces` and without a trailing slash. */
  readonly endpoint: string;
  readonly serviceName: string;
  readonly content: boolean;
}

/**
 * Loads the OpenTelemetry SDK and begins to send traces to a collector, as
 * OTLP/HTTP in JSON. Returns a function that sends what is left and stops; it
 * never rejects, and takes at most `deliveryMsMax` and a little.
 */
export async function startTracing({ endpoint, serviceName, content }: Collector): Promise<() => Promise<void>> {
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: deliveryMsMax });
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ "service.name": serviceName }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() }),
    spanLimits: { attributeValueLengthLimit: content ? contentAttributeCharactersMax : attributeCharactersMax },
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter,
        maxQueueSize: content ? waitingContentSpansMax : waitingSpansMax,
        maxExportBatchSize: content ? contentBatchSpansMax : batchSpansMax,
        scheduledDelayMillis: batchEveryMs,
        exportTimeoutMillis: deliveryMsMax,
      }),
    ],
  });
  const { SpanKind, SpanStatusCode, ROOT_CONTEXT, trace } = api;
  recordWith({
    tracer: provider.getTracer("parley"),
    kinds: {
      server: SpanKind.SERVER,
      consumer: SpanKind.CONSUMER,
      client: SpanKind.CLIENT,
      internal: SpanKind.INTERNAL,
    },
    failed: SpanStatusCode.ERROR,
    open: new AsyncLocalStorage<Span>(),
    content,
    contextOf: (span) => trace.setSpan(ROOT_CONTEXT, span),
    contextFrom: (parent) =>
      parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }),
  });
  return async () => {
    recordWith(null);
    await provider.shutdown().catch(() => {});
  };
}
