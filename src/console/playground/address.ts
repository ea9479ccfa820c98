import { useCallback } from "react";
import { useLocation, useSearch } from "wouter";
import type { TalkWith } from "./talk.ts";

/** What the playground's address holds: the agent, and for each column a version and a session. */
export interface PlaygroundAddress {
  readonly agentId: string | null;
  readonly isComparing: boolean;
  /** Whom sessions that are begun belong to; empty: the tenant itself. */
  readonly userId: string;
  /** Metadata of sessions that are begun, as JSON; empty: none. */
  readonly metadata: string;
  readonly columns: readonly [TalkWith | null, TalkWith | null];
}

/** Names of the address's parameters, for each column. */
const names = [
  { version: "version", session: "session" },
  { version: "version2", session: "session2" },
] as const;

/** A change of the address; null takes a parameter away. */
export type AddressChange = {
  readonly [Name in "agent" | "compare" | "version" | "session" | "version2" | "session2" | "user" | "metadata"]?:
    | string
    | null;
};

/** Reads the address. */
export function readAddress(search: string): PlaygroundAddress {
  const values = new URLSearchParams(search);
  const agentId = values.get("agent");
  const isComparing = values.has("compare");
  const column = (at: 0 | 1): TalkWith | null => {
    if (agentId === null || (at === 1 && !isComparing)) return null;
    const version = Number(values.get(names[at].version) ?? Number.NaN);
    return { agentId, version: Number.isInteger(version) ? version : null, sessionId: values.get(names[at].session) };
  };
  const [userId, metadata] = [values.get("user") ?? "", values.get("metadata") ?? ""];
  return { agentId, isComparing, userId, metadata, columns: [column(0), column(1)] };
}

/** The address, and a function that changes parts of it: in place, or as a new entry of the browser's history. */
export function usePlaygroundAddress(): [PlaygroundAddress, (change: AddressChange, isNew?: boolean) => void] {
  const address = readAddress(useSearch());
  const [, navigate] = useLocation();
  const change = useCallback(
    (changes: AddressChange, isNew = false) => {
      // Two sessions may begin at once: each changes what is there by then.
      const values = new URLSearchParams(window.location.search);
      for (const [name, value] of Object.entries(changes))
        if (value === null) values.delete(name);
        else values.set(name, value);
      navigate(`/playground?${values}`, { replace: !isNew });
    },
    [navigate],
  );
  return [address, change];
}
