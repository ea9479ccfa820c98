import type { SkillFile } from "parley/client";
import { Button } from "../parts/button.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { bytesText } from "../parts/moment.ts";

interface SkillFilesProps {
  readonly files: readonly SkillFile[];
  /** Where a file is downloaded; null where it cannot be. */
  readonly address: string | null;
  readonly chosen?: string;
  onChoose?(path: string): void;
}

/** The files of a skill: to read here, or to download. */
export function SkillFiles({ files, address, chosen, onChoose }: SkillFilesProps) {
  const columns: readonly Column<SkillFile>[] = [
    {
      name: "Path",
      cell: ({ path }) =>
        onChoose === undefined ? (
          <code>{path}</code>
        ) : (
          <Button tone="quiet" aria-pressed={path === chosen} onClick={() => onChoose(path)}>
            {path}
          </Button>
        ),
    },
    { name: "Size", cell: ({ sizeBytes }) => bytesText(sizeBytes), numeric: true },
    ...(address === null
      ? []
      : [
          {
            name: "",
            cell: ({ path }: SkillFile) => (
              <a download href={`${address}?${new URLSearchParams({ path })}`}>
                Download
              </a>
            ),
          },
        ]),
  ];
  return <DataTable caption="Files" columns={columns} rows={files} rowKey={({ path }) => path} />;
}
