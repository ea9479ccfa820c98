import { useQuery } from "@tanstack/react-query";
import type { AuditEvent } from "parley/client";
import { Link } from "wouter";
import type { AuditChoices, AuditedName } from "../../console-shapes/audit.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { readConsole } from "../api/fetch.ts";
import { useKnown } from "../api/questions.ts";
import { CopyButton } from "../parts/copyable-id.tsx";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, SelectFilter, TextFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { spanOf } from "../parts/periods.ts";
import { RangeFilter } from "../parts/range-filter.tsx";
import { useTimeFilters } from "../parts/time-filters.ts";
import { When } from "../parts/when.tsx";
import { actorText, resourcePlace, valueText } from "./audit-words.ts";

/** How often the newest events are read anew, in ms. */
const refreshMs = 15_000;

type NameOf = (auditEventId: string) => string | null | undefined;

function columnsOf(nameOf: NameOf): readonly Column<AuditEvent>[] {
  return [
    { name: "Action", cell: Action },
    { name: "Resource", cell: (event) => <Resource event={event} called={nameOf(event.id)} /> },
    { name: "Who", cell: Actor },
    { name: "When", cell: ({ at }) => <When at={at} /> },
  ];
}

/** What the resources of events are called now. */
function useNames(auditEventIds: readonly string[]): NameOf {
  return useKnown("audited-name", auditEventIds, async (ids, signal) => {
    const path = `/console/api/audit-names?auditEventIds=${ids.join()}`;
    const { data } = await readConsole<{ data: AuditedName[] }>(path, { signal });
    return new Map(data.map(({ auditEventId, name }) => [auditEventId, name]));
  });
}

/** By name where there is one, and by kind: a link to everything that they did. */
function Actor({ actor, actorName }: AuditEvent) {
  const { kind, id } = actorText(actor);
  if (id === null) return kind;
  return (
    <>
      <Link href={`/audit?actorId=${encodeURIComponent(id)}`}>{actorName ?? id}</Link>
      <span className="faint block">{kind}</span>
    </>
  );
}

/** By its name, else by its id, which can be copied for the filter. */
function Resource({ event, called }: { readonly event: AuditEvent; readonly called: string | null | undefined }) {
  const { resourceType, resourceId, values } = event;
  const kind = resourceType.replaceAll("_", " ");
  if (resourceId === null) return kind;
  const place = resourcePlace(resourceType, resourceId);
  const name = called ?? values.find(({ field }) => field === "name")?.after ?? <code>{resourceId}</code>;
  return (
    <>
      {place === null ? name : <Link href={place}>{name}</Link>}
      <span className="faint block copyable">
        {kind} <CopyButton text={resourceId} />
      </span>
    </>
  );
}

/** What was done, and below it the changed fields, each with what became of it where that is kept. */
function Action({ action, changes, values }: AuditEvent) {
  return (
    <>
      <strong>{action}</strong>
      {changes.length > 0 && (
        <ul className="changes" aria-label="Changed">
          {changes.map((field) => {
            const value = values.find((one) => one.field === field);
            return (
              <li key={field}>
                {field}
                {value !== undefined && (
                  <>
                    {" "}
                    <code>{valueText(value)}</code>
                  </>
                )}
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}

/** What the filters offer. An action or somebody in the address is a choice too, whether there are events of it or not. */
function useChoices({ action, actorId }: { readonly action?: string; readonly actorId?: string }) {
  const { data } = useQuery({
    queryKey: ["audit-choices"],
    queryFn: ({ signal }) => readConsole<AuditChoices>("/console/api/audit-choices", { signal }),
  });
  const actions = data?.actions ?? [];
  const actors = (data?.actors ?? []).map(
    ({ id, name, type }) => [id, `${name ?? id} (${actorText({ type, id }).kind})`] as const,
  );
  const isKnown = actorId === undefined || actors.some(([id]) => id === actorId);
  return {
    actions: action === undefined || actions.includes(action) ? actions : [...actions, action].toSorted(),
    actors: isKnown ? actors : [...actors, [actorId, actorId] as const],
  };
}

/** Who did what, the newest first. */
export default function Audit() {
  const [filters, setFilters] = useTimeFilters("action", "actorId", "resourceId");
  const choices = useChoices(filters);
  const list = useCursorList<AuditEvent>({
    key: ["audit", filters],
    load: async (cursor, signal) => {
      const { since, ...others } = filters;
      const span = spanOf(since, new Date());
      const period = span && { from: span.from.toISOString(), ...(span.to && { to: span.to.toISOString() }) };
      const { data, nextCursor } = await parley.auditEvents.list(
        { limit: 50, ...others, ...period, ...(cursor && { cursor }) },
        { signal },
      );
      return { rows: data, nextCursor };
    },
    refreshMs,
  });
  const nameOf = useNames(list.rows.map(({ id }) => id));
  const filtered = Object.keys(filters).length > 0;
  return (
    <PageFrame title="Audit">
      <FilterBar>
        <SelectFilter
          label="Action"
          value={filters.action}
          options={choices.actions}
          onChange={(action) => setFilters({ action })}
        />
        <SelectFilter
          label="Who"
          value={filters.actorId}
          options={choices.actors}
          onChange={(actorId) => setFilters({ actorId })}
        />
        <TextFilter
          label="Resource's id"
          value={filters.resourceId}
          onChange={(resourceId) => setFilters({ resourceId })}
        />
        <RangeFilter value={filters.since} usual="any" now={new Date()} onChange={(since) => setFilters({ since })} />
      </FilterBar>
      <p className="hint">
        Events are kept for 400 days. They say what settings became; what somebody wrote and secrets are never in them.
      </p>
      <ListView
        list={list}
        caption="Audit events, the newest first"
        columns={columnsOf(nameOf)}
        rowKey={({ id }) => id}
        empty={filtered ? "No event matches." : "Nothing was changed yet."}
      />
    </PageFrame>
  );
}
