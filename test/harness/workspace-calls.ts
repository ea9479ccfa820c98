import type { WorkspaceCreate } from "parley/client";
import type { ApiResponse, Harness, TestTenant } from "./harness.ts";

/** The calls that tests of workspaces make all the time. */
export function workspaceCalls(h: Harness, t: TestTenant) {
  /** Makes a workspace and returns its id. */
  async function create(tenant = t, fields: WorkspaceCreate = {}): Promise<string> {
    return (await tenant.parley.workspaces.create(fields)).id;
  }
  /** Where a workspace's file is, or the list of its files. */
  function filesUrl(id: string, path?: string): string {
    return `/v1/workspaces/${id}/files${path === undefined ? "" : `?path=${encodeURIComponent(path)}`}`;
  }
  function put(id: string, path: string, content: string | Uint8Array, tenant = t): Promise<ApiResponse> {
    const headers = { "content-type": "application/octet-stream" };
    return tenant.call("PUT", filesUrl(id, path), { form: "b", body: content, headers });
  }
  function get(id: string, path?: string, tenant = t): Promise<ApiResponse> {
    return tenant.call("GET", filesUrl(id, path), { form: "b" });
  }
  /** Fills a workspace by rows, which is quicker than by requests. */
  async function fill(id: string, files: number, bytesEach: number): Promise<void> {
    await h.sql`
      insert into workspace_files (workspace_id, path, content, size)
      select ${id}, 'fill/' || n, convert_to(repeat('x', ${bytesEach}), 'UTF8'), ${bytesEach} from generate_series(1, ${files}) n`;
  }
  return { create, filesUrl, put, get, fill };
}
