import type { Agent, AgentVersion } from "parley/client";
import { useId, useState } from "react";
import type { VersionMark } from "../../console-shapes/marks.ts";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useVersionMarks } from "../api/marks.ts";
import { useMay } from "../api/role.ts";
import { Button, ButtonLink } from "../parts/button.tsx";
import { ChangedLines } from "../parts/changed-lines.tsx";
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
  const mayRun = useMay("runner");
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
      <VersionTable agentId={agent.id} rows={list.rows} />
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
          {older !== undefined && older.version !== newer.version && mayRun && (
            <ButtonLink
              to={`/playground?agent=${agent.id}&compare=1&version=${newer.version}&version2=${older.version}`}
            >
              Compare answers
            </ButtonLink>
          )}
        </form>
      </div>
      {older === undefined || older.version === newer.version ? (
        <Empty>There is no other version to compare it with.</Empty>
      ) : (
        <Diff older={older} newer={newer} />
      )}
    </>
  );
}

/** A version with what its turns came to; null: none is among the newest. */
interface VersionRow {
  readonly version: AgentVersion;
  readonly mark: VersionMark | undefined;
}

const versionColumns: readonly Column<VersionRow>[] = [
  {
    name: "Version",
    cell: ({ version: { version, changeNote } }) => (
      <>
        {version} {changeNote && <bdi className="faint">{changeNote}</bdi>}
      </>
    ),
  },
  {
    name: "Made by",
    cell: ({ mark }) => mark?.madeBy ?? <span className="faint">–</span>,
  },
  { name: "Made", cell: ({ version }) => <When at={version.createdAt} /> },
  { name: "Turns", cell: ({ mark }) => countText(mark?.turns ?? 0), numeric: true },
  {
    name: "Succeeded",
    cell: ({ mark: { succeeded, failed } = { succeeded: 0, failed: 0 } }) =>
      succeeded + failed === 0 ? "–" : `${Math.floor((100 * succeeded) / (succeeded + failed))} %`,
    numeric: true,
  },
  {
    name: "First text, median",
    cell: ({ mark }) => (mark?.firstTextMsP50 == null ? "–" : durationText(mark.firstTextMsP50)),
    numeric: true,
  },
  {
    name: "Ran, median",
    cell: ({ mark }) => (mark?.runMsP50 == null ? "–" : durationText(mark.runMsP50)),
    numeric: true,
  },
  {
    name: "Tokens a turn",
    cell: ({ mark }) => (mark === undefined ? "–" : countText(Math.round(mark.tokens))),
    numeric: true,
  },
];

/** Who made each version and why, and what its turns came to, side by side. */
function VersionTable({ agentId, rows }: { readonly agentId: string; readonly rows: readonly AgentVersion[] }) {
  const marks = useVersionMarks(agentId).data?.data ?? [];
  return (
    <>
      <DataTable
        caption="Versions"
        columns={versionColumns}
        rows={rows.map((version) => ({ version, mark: marks.find((mark) => mark.version === version.version) }))}
        rowKey={({ version }) => String(version.version)}
      />
      <p className="hint">The figures are those of the agent's newest 10,000 turns.</p>
    </>
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
  return <ChangedLines label={`From version ${older.version} to ${newer.version}`} changes={fields} />;
}

function Restore({ agent, version }: { readonly agent: Agent; readonly version: AgentVersion }) {
  async function restore(): Promise<void> {
    const changeNote = `Restores version ${version.version}`;
    const saved = await parley.agents.update(agent.id, { ...agentOfForm(formOfAgent(version)), changeNote });
    await readAgentAnew(agent.id);
    toast(`Version ${version.version} is restored as version ${saved.version}.`);
  }
  return (
    <ConfirmButton label="Restore" title={`Restore version ${version.version}?`} tone="plain" onConfirm={restore}>
      <p>The agent's next version is the same as this one. Nothing that is there now is lost.</p>
    </ConfirmButton>
  );
}
