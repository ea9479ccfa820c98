import type { Agent } from "parley/client";
import { useEffect } from "react";
import { useLocation, useSearch } from "wouter";
import { firstUsable } from "../api/agents.ts";
import { useConsoleSession } from "../api/session.ts";

/**
 * Brings back the conversation that was open last, when the playground is opened without one; with
 * none, the first agent that can answer. `agents` are given once they are needed and known. A tenant's are its own.
 */
export function useLastAddress(agents: readonly Agent[] | undefined): void {
  const search = useSearch();
  const [, navigate] = useLocation();
  const principal = useConsoleSession().data?.principal;
  const place = `parley.playground.${principal?.kind === "tenant" ? principal.tenantId : ""}`;
  useEffect(() => {
    if (new URLSearchParams(search).has("agent")) localStorage.setItem(place, search);
    else if (agents !== undefined) {
      const first = firstUsable(agents);
      const last = localStorage.getItem(place) ?? (first ? `agent=${first.id}` : "");
      if (last !== "") navigate(`/playground?${last}`, { replace: true });
    }
  }, [search, agents, place, navigate]);
}
