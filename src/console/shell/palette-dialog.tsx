import { Combobox } from "@base-ui/react/combobox";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import type { ListedSession } from "../../console-shapes/sessions.ts";
import { useAgents } from "../api/agents.ts";
import { readConsole } from "../api/fetch.ts";
import { isAtLeast } from "../api/role.ts";
import { useConsoleSession } from "../api/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { inOneLine } from "../parts/title-line.tsx";
import type { Screen } from "../screens.ts";
import { type Destination, placesOf } from "./palette-places.ts";

interface PaletteDialogProps {
  readonly open: boolean;
  onOpenChange(open: boolean): void;
  readonly screens: readonly Screen[];
}

/** The words rest this long before sessions are searched, in ms. */
const restMs = 250;
const searchedMin = 3;
const foundMax = 5;

/** A field that leads to a screen, an agent, a session, a user, or whatever has an id. */
export default function PaletteDialog({ open, onOpenChange, screens }: PaletteDialogProps) {
  return (
    <Dialog title="Go to" open={open} onOpenChange={onOpenChange}>
      {open && <Field screens={screens} onDone={() => onOpenChange(false)} />}
    </Dialog>
  );
}

function Field({ screens, onDone }: { readonly screens: readonly Screen[]; onDone(): void }) {
  const [words, setWords] = useState("");
  const [, navigate] = useLocation();
  const principal = useConsoleSession().data?.principal;
  const isTenant = principal?.kind === "tenant";
  const places = placesOf(words, {
    ...{ screens, isTenant },
    agents: useAgentsOf(isTenant),
    found: useFound(words, isTenant).map(({ id, agentId, firstMessagePreview, lastMessagePreview }) => ({
      ...{ sessionId: id, agentId, title: firstMessagePreview || lastMessagePreview },
    })),
    may: (role) => principal?.kind === "tenant" && isAtLeast(principal.role, role),
  });
  function go(place: Destination | null): void {
    if (place === null) return;
    navigate(place.to);
    onDone();
  }
  return (
    <Combobox.Root
      inline
      open
      items={places}
      filter={null}
      autoHighlight
      value={null}
      onValueChange={go}
      inputValue={words}
      onInputValueChange={setWords}
      itemToStringLabel={(place: Destination) => place.label}
    >
      <Combobox.Input aria-label="Go to" placeholder="A screen, an agent, a user, an id, or words that were said" />
      <Combobox.List className="palette-list">
        {(place: Destination) => (
          <Combobox.Item key={`${place.detail} ${place.to}`} value={place} className="popup-item">
            <bdi className="clipped">{inOneLine(place.label)}</bdi>
            <span className="faint">{place.detail}</span>
          </Combobox.Item>
        )}
      </Combobox.List>
    </Combobox.Root>
  );
}

function useAgentsOf(isTenant: boolean) {
  const { data } = useAgents(isTenant);
  return data?.agents ?? [];
}

/** The sessions in which the words were said, once they rest. */
function useFound(words: string, isTenant: boolean) {
  const [rested, setRested] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setRested(words.trim()), restMs);
    return () => clearTimeout(timer);
  }, [words]);
  const { data } = useQuery({
    queryKey: ["search", rested],
    queryFn: ({ signal }) =>
      readConsole<{ data: ListedSession[] }>(`/console/api/search?words=${encodeURIComponent(rested)}`, { signal }),
    enabled: isTenant && rested.length >= searchedMin,
  });
  return rested.length >= searchedMin ? (data?.data ?? []).slice(0, foundMax) : [];
}
