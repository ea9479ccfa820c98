import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { useConsoleSession } from "../api/session.ts";
import { Button, IconButton } from "./button.tsx";

/** Filters of one screen that this browser keeps. */
const keptMax = 12;

/** Filters that a person has kept for a screen, each a link; they are in this browser alone, and a tenant's are its own. */
export function SavedFilters() {
  const [path] = useLocation();
  const search = useSearch();
  const nameOf = useAgentName();
  const principal = useConsoleSession().data?.principal;
  const place = `parley.filters.${principal?.kind === "tenant" ? principal.tenantId : ""}.${path}`;
  const [, render] = useState(0);
  const kept = readKept(place);
  const isKept = kept.includes(search);
  function keep(next: readonly string[]): void {
    localStorage.setItem(place, JSON.stringify(next));
    render((count) => count + 1);
  }
  if (kept.length === 0 && search === "") return null;
  return (
    <div className="saved-filters">
      {kept.map((one) => (
        <span key={one} className="chip">
          <Link href={`${path}?${one}`} aria-current={one === search ? "true" : undefined}>
            {wordsOf(one, nameOf)}
          </Link>
          <IconButton
            label={`Forget ${wordsOf(one, nameOf)}`}
            icon="close"
            onClick={() => keep(kept.filter((other) => other !== one))}
          />
        </span>
      ))}
      {search !== "" && !isKept && kept.length < keptMax && (
        <Button tone="quiet" icon="plus" onClick={() => keep([...kept, search])}>
          Keep these filters
        </Button>
      )}
    </div>
  );
}

function readKept(place: string): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(place) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** The values of filters in words, agents by their names. */
function wordsOf(search: string, nameOf: (agentId: string) => string): string {
  return [...new URLSearchParams(search)]
    .map(([name, value]) => (name === "agentId" ? nameOf(value) : value))
    .join(", ");
}
