import { jobs } from "../telemetry/metrics.ts";
import { inSpan, type SpanFields } from "../telemetry/trace.ts";
import { workFor } from "../telemetry/work.ts";
import type { JobName } from "./catalogue.ts";

/** Runs a job, or a turn that was claimed without its job, while counting it. A turn has a span of its own, once it is claimed. */
export async function observeJob(task: JobName, work: () => Promise<void>): Promise<void> {
  const startedAtMs = performance.now();
  const count = (result: string) => jobs.observe({ task, result }, (performance.now() - startedAtMs) / 1000);
  const span = (): SpanFields | null =>
    task === "turn" ? null : { kind: "consumer", attributes: { "parley.task": task } };
  try {
    await workFor({ task }, "job", () => inSpan(`job ${task}`, span, work));
    count("done");
  } catch (error) {
    count("failed");
    throw error;
  }
}
