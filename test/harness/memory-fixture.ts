import { expect } from "bun:test";
import type { Memory } from "parley/client";
import { useAgent } from "./fixture.ts";
import { makeAgent } from "./seed.ts";

/** The service, a tenant with an agent, and how further agents and their memories are made. */
export async function useMemories() {
  const { h, t, agentId } = await useAgent();
  const save = async (text: string, userId = "", agent: string = agentId): Promise<Memory> => {
    const response = await t.call("POST", `/v1/agents/${agent}/memories`, { body: { text, userId } });
    expect(response.status).toBe(201);
    return response.body;
  };
  return { h, t, agentId, save, freshAgent: (): Promise<string> => makeAgent(h, t) };
}
