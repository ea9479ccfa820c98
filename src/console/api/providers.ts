import { useQuery } from "@tanstack/react-query";
import { parley } from "./client.ts";

/** The model providers, for choices: one reading, which all fields share. */
export function useProviders() {
  return useQuery({ queryKey: ["providers", "all"], queryFn: ({ signal }) => parley.providers.list({}, { signal }) });
}
