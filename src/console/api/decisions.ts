import { useQuery } from "@tanstack/react-query";
import type { DecidedCall } from "../../console-shapes/words.ts";
import { readConsole } from "./fetch.ts";

interface Asked {
  readonly resolve: (decision: DecidedCall | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Approvals in one request; the service takes as many. */
const askedMax = 100;
/** Those that are asked for next. */
let waiting = new Map<string, Asked>();

/** Who decided an approval; null where it is not decided, undefined while that is not known. It is decided once. */
export function useDecision(approvalId: string): DecidedCall | null | undefined {
  const { data } = useQuery({
    queryKey: ["decision", approvalId],
    queryFn: () => readTogether(approvalId),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data;
}

/** Reads a decision together with the others of a page: a transcript shows one for each call that a person decided. */
function readTogether(approvalId: string): Promise<DecidedCall | null> {
  return new Promise((resolve, reject) => {
    if (waiting.size === 0) setTimeout(readWaiting);
    waiting.set(approvalId, { resolve, reject });
  });
}

function readWaiting(): void {
  const all = [...waiting];
  waiting = new Map();
  for (let from = 0; from < all.length; from += askedMax) void readGroup(all.slice(from, from + askedMax));
}

async function readGroup(group: readonly (readonly [string, Asked])[]): Promise<void> {
  try {
    const path = `/console/api/decisions?approvalIds=${group.map(([id]) => id).join()}`;
    const { data } = await readConsole<{ data: readonly DecidedCall[] }>(path);
    const decisions = new Map(data.map((decision) => [decision.approvalId, decision]));
    for (const [id, { resolve }] of group) resolve(decisions.get(id) ?? null);
  } catch (error) {
    for (const [, { reject }] of group) reject(error);
  }
}
