import { afterEach, beforeEach } from "bun:test";
import type { Ctx } from "../../src/kernel/context.ts";
import { sessionPoolOf } from "../../src/mcp-connections/call/pool.ts";
import { RawMcpServer } from "../servers/raw-mcp.ts";
import { useTenant } from "./fixture.ts";
import type { Harness, TestTenant } from "./harness.ts";

/** A tenant with a server whose answers a test writes byte by byte. */
interface RawMcpScene {
  readonly h: Harness;
  readonly t: TestTenant;
  /** The server of the running test. */
  mcp: RawMcpServer;
  /** What a worker would have, with no session kept from the test before. */
  ctx: Ctx;
}

/** Starts the service with a tenant, and for each test a server of its own; the tenant's connections go after each. */
export async function useRawMcp(): Promise<RawMcpScene> {
  const { h, t } = await useTenant();
  const scene = { h, t, ctx: h.ctx } as RawMcpScene;
  beforeEach(() => {
    scene.mcp = new RawMcpServer();
    scene.ctx = { ...h.ctx };
  });
  afterEach(async () => {
    sessionPoolOf(scene.ctx).close();
    await scene.mcp.stop();
    await h.sql`delete from mcp_connections where tenant_id = ${t.id}`;
  });
  return scene;
}
