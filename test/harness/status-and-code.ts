import { expect } from "bun:test";
import type { ApiResponse } from "./harness.ts";

/** A response's status, and the code of its error; undefined for a success. */
export function statusAndCode({ status, body }: Pick<ApiResponse, "status" | "body">): [number, string | undefined] {
  return [status, body?.error?.code];
}

/** Expects that two errors differ in their request's id alone, as those of another tenant's resource and of a missing one do. */
export function expectSameError(one: ApiResponse, other: ApiResponse): void {
  const strip = ({ status, body }: ApiResponse) => [status, { ...body.error, requestId: "" }];
  expect(strip(one)).toEqual(strip(other));
}
