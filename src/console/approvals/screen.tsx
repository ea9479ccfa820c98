import { useEffect, useRef } from "react";
import { useOpenCalls } from "../api/open-calls.ts";
import { Button } from "../parts/button.tsx";
import { PageFrame } from "../parts/page.tsx";
import { useShortcuts } from "../parts/shortcuts.ts";
import { Empty, LoadFailure, Loading } from "../parts/states.tsx";
import { OpenCall } from "./open-call.tsx";

/** Everything that waits for a person in the tenant, the oldest first. */
export default function Approvals() {
  const list = useOpenCalls(50, 3_000);
  const frame = useRef<HTMLOListElement>(null);
  useRowKeys(frame);
  return (
    <PageFrame title="Approvals">
      {list.isLoading && <Loading />}
      {list.error !== null && <LoadFailure error={list.error} retry={list.reload} />}
      {!list.isLoading && list.error === null && list.rows.length === 0 && (
        <Empty>Nothing waits for a person. Calls that an agent's policy holds back, and client tools, come here.</Empty>
      )}
      {list.rows.length > 0 && (
        <>
          <p className="hint keys-hint">
            <kbd>j</kbd> and <kbd>k</kbd> go to the next and the previous call, <kbd>a</kbd> approves it, <kbd>d</kbd>{" "}
            denies it.
          </p>
          <ol className="open-calls" ref={frame} aria-label="Calls that wait">
            {list.rows.map((call) => (
              <OpenCall key={`${call.turnId} ${call.toolCallId}`} call={call} />
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
  useShortcuts([
    { keys: "j", does: "Next call", act: () => go(focused() + 1) },
    { keys: "k", does: "Previous call", act: () => go(focused() - 1) },
    { keys: "a", does: "Approve the call with the focus", act: () => press("approve") },
    { keys: "d", does: "Deny the call with the focus", act: () => press("deny") },
  ]);
  const opened = useRef(false);
  useEffect(() => {
    const isNew = !opened.current && rows().length > 0;
    if (isNew) opened.current = true;
    if (isNew || document.activeElement === document.body) go(place.current);
  });
}
