import type { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, Context, Span, SpanKind, Tracer } from "@opentelemetry/api";

/**
 * Traces, as the rest of the source sees them. The SDK is loaded only when an
 * operator names a collector (`trace-export.ts`); without one, everything here is a test
 * for null. A trace crosses the queue as a `traceparent` in the turn's row, which
 * outlives its job: a turn that is run again, or goes on after a person's
 * decision, stays in the trace of the request that asked for it.
 */

/** What a span is made with. */
export interface SpanFields {
  readonly kind: "server" | "consumer" | "client" | "internal";
  /** A `traceparent` from elsewhere; without one, the span that is open here is the parent. */
  readonly parent?: string | null;
  readonly attributes: Attributes;
}

/** A span under way; when tracing is off, an object that does nothing. */
export interface OpenSpan {
  set(attributes: Attributes): void;
  rename(name: string): void;
  event(name: string): void;
  /** Marks it as failed, with one of our causes and never with a vendor's text. */
  fail(cause: string): void;
  end(): void;
}

/** The loaded SDK, as `trace-export.ts` hands it over. */
export interface Tracing {
  readonly tracer: Tracer;
  readonly kinds: Readonly<Record<SpanFields["kind"], SpanKind>>;
  /** The status code of a failed span. */
  readonly failed: number;
  readonly open: AsyncLocalStorage<Span>;
  /** Whether spans hold what people, models and tools said. */
  readonly content: boolean;
  contextOf(span: Span): Context;
  contextFrom(parent: { traceId: string; spanId: string; traceFlags: number } | null): Context;
}

let tracing: Tracing | null = null;

/** Records spans with a loaded SDK from now on; null records none. */
export function recordWith(loaded: Tracing | null): void {
  tracing = loaded;
}

/** Returns whether spans are recorded at all. */
export function isTracing(): boolean {
  return tracing !== null;
}

/** Returns whether spans may hold what people, models and tools said: only where an operator has asked for it. */
export function recordsContent(): boolean {
  return tracing?.content === true;
}

/** Runs `work` in a span, which is the parent of those that `work` opens. No span when tracing is off, or `fields` returns null. */
export async function inSpan<T>(
  name: string,
  fields: () => SpanFields | null,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  const known = tracing === null ? null : fields();
  if (tracing === null || known === null) return work(noSpan);
  const span = startOn(tracing, name, known);
  const open = wrap(tracing, span);
  try {
    return await tracing.open.run(span, () => work(open));
  } catch (error) {
    open.fail(error instanceof Error ? error.name : "error");
    throw error;
  } finally {
    span.end();
  }
}

/** Opens a span under the one that is open here, and returns it; the caller ends it. */
export function startSpan(name: string, fields: () => SpanFields): OpenSpan {
  return tracing === null ? noSpan : wrap(tracing, startOn(tracing, name, fields()));
}

/** Returns the `traceparent` of the span that is open here; null when there is none. */
export function currentTraceparent(): string | null {
  const context = tracing?.open.getStore()?.spanContext();
  if (context === undefined) return null;
  return `00-${context.traceId}-${context.spanId}-${context.traceFlags.toString(16).padStart(2, "0")}`;
}

const noSpan: OpenSpan = { set() {}, rename() {}, event() {}, fail() {}, end() {} };

function startOn(on: Tracing, name: string, { kind, parent, attributes }: SpanFields): Span {
  const here = on.open.getStore();
  const context = parent == null && here !== undefined ? on.contextOf(here) : on.contextFrom(readParent(parent ?? ""));
  return on.tracer.startSpan(name, { kind: on.kinds[kind], attributes }, context);
}

function wrap(on: Tracing, span: Span): OpenSpan {
  return {
    set: (attributes) => void span.setAttributes(attributes),
    rename: (name) => void span.updateName(name),
    event: (name) => void span.addEvent(name),
    fail: (cause) => void span.setStatus({ code: on.failed }).setAttribute("error.type", cause),
    end: () => span.end(),
  };
}

const parentPattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** Returns the parts of a W3C `traceparent`; null for any other text, and the span then begins a new trace. */
function readParent(text: string): { traceId: string; spanId: string; traceFlags: number } | null {
  const [, traceId, spanId, flags] = parentPattern.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}
