import { type ReactNode, useEffect, useRef, useState } from "react";

/** One column: its heading and what it shows of a row. */
export interface Column<Row> {
  /** Empty above buttons and links: screen readers hear "Actions". */
  readonly name: string;
  cell(row: Row): ReactNode;
  /** Numbers stand at the right. */
  readonly numeric?: boolean;
  /** Left out where there is little room; the row's own page has it. */
  readonly wideOnly?: boolean;
}

interface DataTableProps<Row> {
  /** What the rows are, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  rowKey(row: Row): string;
}

/** A table, whose first column has the room that the others leave; on a narrow screen each row is a card. Where it is wider than its room, keys scroll it too. */
export function DataTable<Row>({ caption, columns, rows, rowKey }: DataTableProps<Row>) {
  const classOf = ({ numeric, wideOnly }: Column<Row>) =>
    [numeric && "numeric", wideOnly && "wide-only"].filter(Boolean).join(" ") || undefined;
  const frame = useRef<HTMLDivElement>(null);
  const isWider = useIsWider(frame);
  return (
    <div
      className="data-table-frame"
      ref={frame}
      {...(isWider && { tabIndex: 0, role: "region", "aria-label": caption })}
    >
      <table className="data-table">
        <caption className="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={classOf(column)}>
                {column.name === "" ? <span className="unseen">Actions</span> : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => (
                <td key={column.name} data-name={column.name} className={classOf(column)}>
                  <div>{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Returns whether what an element holds is wider than the element. */
function useIsWider(of: { readonly current: HTMLElement | null }): boolean {
  const [isWider, setIsWider] = useState(false);
  useEffect(() => {
    const element = of.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setIsWider(element.scrollWidth > element.clientWidth));
    for (const seen of [element, ...element.children]) observer.observe(seen);
    return () => observer.disconnect();
  }, [of]);
  return isWider;
}
