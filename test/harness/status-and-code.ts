import type { ApiResponse } from "./harness.ts";

/** A response's status, and the code of its error; undefined for a success. */
export function statusAndCode({ status, body }: Pick<ApiResponse, "status" | "body">): [number, string | undefined] {
  return [status, body?.error?.code];
}
