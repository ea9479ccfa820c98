import type { Workspace } from "parley/client";
import { Link, Route, Switch } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { useFilters } from "../api/filters.ts";
import type { Column } from "../parts/data-table.tsx";
import { FilterBar, TextFilter } from "../parts/filter-bar.tsx";
import { ListView } from "../parts/list-view.tsx";
import { PageFrame } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";
import { WorkspacePage } from "./workspace-page.tsx";

/** The places of files that agents work in. */
export default function Workspaces() {
  return (
    <Switch>
      <Route path="/workspaces/:workspaceId">
        {({ workspaceId }) => <WorkspacePage key={workspaceId} workspaceId={workspaceId} />}
      </Route>
      <Route>
        <WorkspaceList />
      </Route>
    </Switch>
  );
}

const columns: readonly Column<Workspace>[] = [
  { name: "Name", cell: ({ id, name }) => <Link href={`/workspaces/${id}`}>{name}</Link> },
  { name: "User", cell: ({ userId }) => userId || <span className="faint">the tenant's own</span> },
  { name: "Created", cell: ({ createdAt }) => <When at={createdAt} /> },
];

function WorkspaceList() {
  const [filters, setFilters] = useFilters("userId");
  const list = useCursorList<Workspace>({
    key: ["workspaces", filters.userId],
    load: async (cursor, signal) => {
      const query = { limit: 50, ...(filters.userId && { userId: filters.userId }), ...(cursor && { cursor }) };
      const { data, nextCursor } = await parley.workspaces.list(query, { signal });
      return { rows: data, nextCursor };
    },
  });
  return (
    <PageFrame title="Workspaces">
      <FilterBar>
        <TextFilter label="User" value={filters.userId} onChange={(userId) => setFilters({ userId })} />
      </FilterBar>
      <ListView
        list={list}
        caption="Workspaces, the newest first"
        columns={columns}
        rowKey={({ id }) => id}
        empty={filters.userId ? "No workspace matches." : "There is no workspace yet."}
      />
    </PageFrame>
  );
}
