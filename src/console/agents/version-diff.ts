import type { AgentVersion } from "parley/client";
import { type DiffLine, diffLines } from "../parts/line-diff.ts";

/** A field in which two versions differ, as text over lines. */
export interface FieldDiff {
  readonly field: string;
  readonly lines: readonly DiffLine[];
}

/** What differs in every version. */
const ownFields = new Set(["version", "createdAt", "agentId", "tenantId", "changeNote"]);

/** Returns the fields in which two versions of an agent differ, each line by line. */
export function diffVersions(older: AgentVersion, newer: AgentVersion): FieldDiff[] {
  const names = [...new Set([...Object.keys(older), ...Object.keys(newer)])].filter((name) => !ownFields.has(name));
  return names.flatMap((field) => {
    const before = textOf(older[field as keyof AgentVersion]);
    const after = textOf(newer[field as keyof AgentVersion]);
    return before === after ? [] : [{ field, lines: diffLines(before.split("\n"), after.split("\n")) }];
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2);
}
