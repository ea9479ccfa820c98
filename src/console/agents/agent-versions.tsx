import { useQuery } from "@tanstack/react-query";
import type { Agent, AgentVersion } from "parley/client";
import { useId, useState } from "react";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useVersionMarks, type VersionMark } from "../api/marks.ts";
import { useMay } from "../api/role.ts";
import { Button } from "../parts/button.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { ConfirmButton } from "../parts/dialog.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { Empty, LoadFailure, Loading } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { When } from "../parts/when.tsx";
import { agentOfForm, formOfAgent } from "./agent-form.ts";
import { readAgentAnew } from "./read-agent-anew.ts";
import { diffVersions } from "./version-diff.ts";

/** The versions of an agent, what differs between two of them, and a way back to one. */
export function AgentVersions({ agent }: { readonly agent: Agent }) {
  const list = useCursorList<AgentVersion>({
    key: ["agent-versions", agent.id, "list"],
    load: async (cursor, signal) => {
      const query = { limit: 20, ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.agents.listVersions(agent.id, query, { signal });
      return { rows: data, nextCursor };
    },
  });
  const mayAudit = useMay("editor");
  const [chosen, setChosen] = useState<number | null>(null);
  const [base, setBase] = useState<number | null>(null);
  if (list.isLoading) return <Loading />;
  if (list.error !== null && list.rows.length === 0) return <LoadFailure error={list.error} retry={list.reload} />;
  const newer = list.rows.find(({ version }) => version === (chosen ?? agent.version)) ?? list.rows[0];
  const before = list.rows.find(({ version }) => newer !== undefined && version < newer.version);
  const other = list.rows.find(({ version }) => version !== newer?.version);
  const older = list.rows.find(({ version }) => version === base) ?? before ?? other;
  if (newer === undefined) return <Empty>There is no version.</Empty>;
  return (
    <>
      <VersionNumbers agentId={agent.id} />
      <div className="filter-bar">
        <form onSubmit={(event) => event.preventDefault()}>
          <VersionSelect label="Version" rows={list.rows} value={newer.version} onChange={setChosen} />
          <VersionSelect label="Compared with" rows={list.rows} value={older?.version ?? null} onChange={setBase} />
          {list.hasMore && (
            <Button onClick={list.loadMore} disabled={list.isLoadingMore}>
              Earlier versions
            </Button>
          )}
          {newer.version !== agent.version && <Restore agent={agent} version={newer} />}
        </form>
      </div>
      <p className="hint">
        Version {newer.version} was made <When at={newer.createdAt} />
        {mayAudit && <MadeBy agentId={agent.id} at={newer.createdAt} />}.
      </p>
      {older === undefined || older.version === newer.version ? (
        <Empty>There is no other version to compare it with.</Empty>
      ) : (
        <Diff older={older} newer={newer} />
      )}
    </>
  );
}

/** By whom a version was made, as the audit events have it. */
function MadeBy({ agentId, at }: { readonly agentId: string; readonly at: string }) {
  const { data } = useQuery({
    queryKey: ["audit", "of-agent", agentId],
    queryFn: ({ signal }) => parley.auditEvents.list({ resourceId: agentId, limit: 200 }, { signal }),
    staleTime: 30_000,
  });
  // Both are written by one transaction.
  const event = data?.data.find((one) => Math.abs(Date.parse(one.at) - Date.parse(at)) < sameTransactionMs);
  const who = event?.actorName ?? event?.actor.id;
  return who == null ? null : ` by ${who}`;
}

const sameTransactionMs = 1_000;

const numberColumns: readonly Column<VersionMark>[] = [
  { name: "Version", cell: ({ version }) => version },
  { name: "Turns", cell: ({ turns }) => countText(turns), numeric: true },
  {
    name: "Succeeded",
    cell: ({ succeeded, failed }) =>
      succeeded + failed === 0 ? "–" : `${Math.floor((100 * succeeded) / (succeeded + failed))} %`,
    numeric: true,
  },
  {
    name: "First text, median",
    cell: ({ firstTextMsP50 }) => (firstTextMsP50 === null ? "–" : durationText(firstTextMsP50)),
    numeric: true,
  },
  { name: "Ran, median", cell: ({ runMsP50 }) => (runMsP50 === null ? "–" : durationText(runMsP50)), numeric: true },
  { name: "Tokens a turn", cell: ({ tokens }) => countText(Math.round(tokens)), numeric: true },
];

/** What the versions' turns came to, side by side. */
function VersionNumbers({ agentId }: { readonly agentId: string }) {
  const marks = useVersionMarks(agentId).data?.data ?? [];
  if (marks.length === 0) return null;
  return (
    <DataTable
      caption="What the versions' turns came to, of the newest 10,000"
      columns={numberColumns}
      rows={marks}
      rowKey={({ version }) => String(version)}
    />
  );
}

interface VersionSelectProps {
  readonly label: string;
  readonly rows: readonly AgentVersion[];
  readonly value: number | null;
  onChange(version: number): void;
}

function VersionSelect({ label, rows, value, onChange }: VersionSelectProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value ?? ""} onChange={(event) => onChange(Number(event.target.value))}>
        {value === null && <option value="">–</option>}
        {rows.map(({ version, model }) => (
          <option key={version} value={version}>
            {version} · {model ?? "no model"}
          </option>
        ))}
      </select>
    </div>
  );
}

function Diff({ older, newer }: { readonly older: AgentVersion; readonly newer: AgentVersion }) {
  const fields = diffVersions(older, newer);
  if (fields.length === 0) return <Empty>Both versions are the same.</Empty>;
  return (
    <dl className="diff" aria-label={`From version ${older.version} to ${newer.version}`}>
      {fields.map(({ field, lines }) => (
        <div key={field}>
          <dt>{field}</dt>
          <dd>
            {lines.map(({ kind, text }, at) => {
              const line = text === "" ? " " : text;
              // The place is the line's identity: the list is made anew whenever a version is chosen.
              const key = `${at}`;
              if (kind === "removed") return <del key={key}>{line}</del>;
              return kind === "added" ? <ins key={key}>{line}</ins> : <span key={key}>{line}</span>;
            })}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Restore({ agent, version }: { readonly agent: Agent; readonly version: AgentVersion }) {
  async function restore(): Promise<void> {
    const saved = await parley.agents.update(agent.id, agentOfForm(formOfAgent(version)));
    await readAgentAnew(agent.id);
    toast(`Version ${version.version} is restored as version ${saved.version}.`);
  }
  return (
    <ConfirmButton label="Restore" title={`Restore version ${version.version}?`} tone="plain" onConfirm={restore}>
      <p>The agent's next version is the same as this one. Nothing that is there now is lost.</p>
    </ConfirmButton>
  );
}
