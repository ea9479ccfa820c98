import { useQuery } from "@tanstack/react-query";
import { readConsole } from "./fetch.ts";

/** The identity provider that signs people in to the console. */
export interface SignInProvider {
  readonly name: string;
  readonly startUrl: string;
}

/** Reads whether there is an identity provider; `provider` is null where none is set up. */
export function useIdentityProvider() {
  return useQuery({
    queryKey: ["sign-in-provider"],
    queryFn: () => readConsole<{ readonly provider: SignInProvider | null }>("/console/api/oidc"),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
