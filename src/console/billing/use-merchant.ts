import { useQuery } from "@tanstack/react-query";
import { parley } from "../api/client.ts";

/** The tenant's merchant connection; its `connection` is null while there is none. */
export function useMerchant() {
  return useQuery({
    queryKey: ["merchant-connection"],
    queryFn: ({ signal }) => parley.merchantConnection.get({ signal }),
  });
}
