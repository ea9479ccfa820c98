import { afterAll, expect } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { startVendor, type VendorServer } from "../servers/vendor.ts";
import type { TestTenant } from "./harness.ts";

/** The key of every provider that these tests make; it must be in no response. */
export const providerKey = "sk-secret-0123456789abcdef";

/** The body that makes a provider. */
export function providerBody(fields: Record<string, unknown> = {}) {
  return { name: `p-${newId("provider")}`, providerType: "llm_vendor_a", apiKey: providerKey, ...fields };
}

/** Makes a provider over HTTP, and returns its id. */
export async function createProvider(tenant: TestTenant, fields: Record<string, unknown> = {}): Promise<string> {
  const made = await tenant.call("POST", "/v1/providers", { body: providerBody(fields) });
  expect([made.status, made.body.error]).toEqual([201, undefined]);
  return made.body.id;
}

/** Returns a function that starts stand-ins of vendors; they stop after the last test of the file. */
export function useVendors(): typeof startVendor {
  const servers: VendorServer[] = [];
  afterAll(() => Promise.all(servers.map((server) => server.stop())));
  return (response) => {
    const server = startVendor(response);
    servers.push(server);
    return server;
  };
}
