import { useEffect, useRef } from "react";
import type { WaitingCall } from "../../console-shapes/words.ts";
import { useFilters } from "../api/filters.ts";
import { useOpenCalls } from "../api/open-calls.ts";
import { useQuestions, useSaidBefore } from "../api/questions.ts";
import { useMay } from "../api/role.ts";
import { AgentPicker } from "../parts/agent-picker.tsx";
import { Button } from "../parts/button.tsx";
import { FilterBar, SelectFilter } from "../parts/filter-bar.tsx";
import { PageFrame } from "../parts/page.tsx";
import { useShortcuts } from "../parts/shortcuts.ts";
import { Empty, LoadFailure, Loading } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { OpenCall } from "./open-call.tsx";

/** Everything that waits for a person in the tenant, the oldest first. */
export default function Approvals() {
  const [filters, setFilters] = useFilters("agentId", "tool");
  const isFiltered = Object.keys(filters).length > 0;
  const list = useOpenCalls(50, 3_000, filters);
  const tools = useKnownTools(list.rows);
  const questionOf = useQuestions([...new Set(list.rows.map(({ turnId }) => turnId))]);
  const saidBefore = useSaidBefore(list.rows.map(keyOf));
  const mayDecide = useMay("approver");
  const frame = useRef<HTMLOListElement>(null);
  useRowKeys(frame);
  return (
    <PageFrame title="Approvals">
      {(list.rows.length > 0 || isFiltered) && (
        <FilterBar>
          <AgentPicker value={filters.agentId} onChange={(agentId) => setFilters({ agentId })} optional />
          <SelectFilter
            label="Tool"
            value={filters.tool}
            options={[...new Set([...tools, ...(filters.tool === undefined ? [] : [filters.tool])])].toSorted()}
            onChange={(tool) => setFilters({ tool })}
          />
        </FilterBar>
      )}
      {list.isLoading && <Loading />}
      {list.error !== null && <LoadFailure error={list.error} retry={list.reload} />}
      {!list.isLoading && list.error === null && list.rows.length === 0 && (
        <Empty>
          {isFiltered ? "No call matches." : "Nothing waits for a person."} Calls that an agent's policy holds back, and
          client tools, come here.
        </Empty>
      )}
      {list.rows.length > 0 && (
        <>
          <p className="hint keys-hint">
            <kbd>j</kbd> and <kbd>k</kbd> go to the next and the previous call
            {mayDecide && (
              <>
                , <kbd>a</kbd> twice approves it, <kbd>d</kbd> denies it
              </>
            )}
            .
          </p>
          <ol className="open-calls" ref={frame} aria-label="Calls that wait">
            {list.rows.map((call) => (
              <OpenCall
                key={keyOf(call)}
                call={call}
                question={questionOf(call.turnId)}
                said={saidBefore(keyOf(call))}
              />
            ))}
          </ol>
          {list.hasMore && (
            <p className="more">
              <Button onClick={list.loadMore} disabled={list.isLoadingMore}>
                Load more
              </Button>
            </p>
          )}
        </>
      )}
    </PageFrame>
  );
}

const keyOf = ({ turnId, toolCallId }: WaitingCall) => `${turnId} ${toolCallId}`;

/** The tools of all calls that were seen, so that another one can be chosen while the list has those of one. */
function useKnownTools(rows: readonly WaitingCall[]): ReadonlySet<string> {
  const seen = useRef(new Set<string>());
  for (const { tool } of rows) seen.current.add(tool);
  return seen.current;
}

/** The second key has to come within this time, in ms. */
const armedMs = 5_000;

/**
 * Keys for the calls of a list: to the next and the previous one, and to decide the one with the
 * focus. The first has it when the page opens, and the next one when a call with the focus goes.
 */
function useRowKeys(frame: { readonly current: HTMLOListElement | null }): void {
  const rows = () => [...(frame.current?.querySelectorAll<HTMLElement>(":scope > li") ?? [])];
  const focused = () => rows().findIndex((row) => row.contains(document.activeElement));
  const place = useRef(0);
  const go = (to: number) => {
    place.current = Math.max(0, Math.min(rows().length - 1, to));
    rows()[place.current]?.focus();
  };
  const press = (name: string) => {
    place.current = Math.max(0, focused());
    rows()[focused()]?.querySelector<HTMLButtonElement>(`[data-act=${name}]`)?.click();
  };
  const armed = useRef<{ row: HTMLElement | undefined; at: number }>({ row: undefined, at: 0 });
  // One key that was meant for something else runs nothing.
  const approve = () => {
    const row = rows()[focused()];
    if (row?.querySelector("[data-act=approve]") == null) return;
    const isSecond = armed.current.row === row && Date.now() - armed.current.at < armedMs;
    armed.current = { row: isSecond ? undefined : row, at: Date.now() };
    if (isSecond) press("approve");
    else toast("Press a once more to approve it.");
  };
  useShortcuts([
    { keys: "j", does: "Next call", act: () => go(focused() + 1) },
    { keys: "k", does: "Previous call", act: () => go(focused() - 1) },
    { keys: "a", does: "Approve the call with the focus, pressed twice", act: approve },
    { keys: "d", does: "Deny the call with the focus", act: () => press("deny") },
  ]);
  const opened = useRef(false);
  useEffect(() => {
    const isNew = !opened.current && rows().length > 0;
    if (isNew) opened.current = true;
    if (isNew || document.activeElement === document.body) go(place.current);
  });
}
