import type { ReactNode } from "react";
import type { CursorList } from "../api/cursor-list.ts";
import { Button } from "./button.tsx";
import { type Column, DataTable } from "./data-table.tsx";
import { Empty, LoadFailure, Loading } from "./states.tsx";

interface ListViewProps<Row> {
  readonly list: CursorList<Row>;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  rowKey(row: Row): string;
  /** What stands there when there is no row. */
  readonly empty: ReactNode;
}

/** A list that is loaded by cursor, in each of its states. */
export function ListView<Row>({ list, caption, columns, rowKey, empty }: ListViewProps<Row>) {
  if (list.isLoading) return <Loading />;
  if (list.error !== null && list.rows.length === 0) return <LoadFailure error={list.error} retry={list.reload} />;
  if (list.rows.length === 0) return <Empty>{empty}</Empty>;
  return (
    <>
      <DataTable caption={caption} columns={columns} rows={list.rows} rowKey={rowKey} />
      {list.error !== null && <LoadFailure error={list.error} retry={list.reload} />}
      {list.hasMore && (
        <p className="more">
          <Button onClick={list.loadMore} disabled={list.isLoadingMore}>
            {list.isLoadingMore ? "Loading…" : "Load more"}
          </Button>
        </p>
      )}
    </>
  );
}
