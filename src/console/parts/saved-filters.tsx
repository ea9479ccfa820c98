import { Link, useLocation, useSearch } from "wouter";
import { useAgentName } from "../api/agents.ts";
import { Button, IconButton } from "./button.tsx";
import { useKeptTexts } from "./kept-texts.ts";
import { periodText } from "./periods.ts";

/** Filters of one screen that this browser keeps. */
const keptMax = 12;

/** Filters that a person has kept for a screen, each a link; they are in this browser alone, and a tenant's are its own. */
export function SavedFilters() {
  const [path] = useLocation();
  const search = useSearch();
  const nameOf = useAgentName();
  const [kept, keep] = useKeptTexts("filters", path);
  if (kept.length === 0) return null;
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
    </div>
  );
}

/** Keeps the present filters; it stands beside them, so that nothing moves when the first one is set. */
export function KeepFilters() {
  const [path] = useLocation();
  const search = useSearch();
  const [kept, keep] = useKeptTexts("filters", path);
  if (search === "" || kept.includes(search) || kept.length >= keptMax) return null;
  return (
    <Button tone="quiet" icon="plus" onClick={() => keep([...kept, search])}>
      Keep these filters
    </Button>
  );
}

/** The values of filters in words, agents and times by their names. */
function wordsOf(search: string, nameOf: (agentId: string) => string): string {
  const wordOf = (name: string, value: string) => {
    if (name === "agentId") return nameOf(value);
    if (name === "since") return periodText(value) ?? value;
    return name === "order" ? `${value} first` : value;
  };
  return [...new URLSearchParams(search)].map(([name, value]) => wordOf(name, value)).join(", ");
}
