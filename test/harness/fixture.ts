import { afterAll } from "bun:test";
import type { AgentCreate } from "parley/client";
import type { IdOf } from "../../src/kernel/ids.ts";
import { type Harness, type HarnessOptions, startHarness, type TestTenant } from "./harness.ts";
import { makeAgent } from "./seed.ts";

/**
 * What a test file stands on. Each function prepares it before the first test of
 * the file and cleans up after the last, so a file begins with one line:
 *
 *     const { h, t, agentId } = await useAgent({ worker: true });
 */
export async function useService(options: HarnessOptions = {}): Promise<Harness> {
  const h = await startHarness(options);
  afterAll(() => h.stop());
  return h;
}

/** The service and one tenant of it. */
export async function useTenant(options: HarnessOptions = {}): Promise<{ h: Harness; t: TestTenant }> {
  const h = await useService(options);
  return { h, t: await h.tenant() };
}

/** The service, one tenant, and an agent of it on the simulated model. */
export async function useAgent(
  options: HarnessOptions & { readonly agent?: Partial<AgentCreate> } = {},
): Promise<{ h: Harness; t: TestTenant; agentId: IdOf<"agent"> }> {
  const { agent, ...rest } = options;
  const { h, t } = await useTenant(rest);
  return { h, t, agentId: await makeAgent(h, t, agent) };
}
