import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";

interface SavedQuestions {
  readonly questions: readonly string[];
  /** Changes what is kept now, which may be more than what is shown: others keep questions too. */
  change(change: (kept: readonly string[]) => readonly string[]): Promise<void>;
}

/** The questions that are kept with an agent. */
export function useSavedQuestions(agentId: string): SavedQuestions {
  const queryKey = ["saved-questions", agentId];
  const { data } = useQuery({
    queryKey,
    queryFn: ({ signal }) => parley.agents.getSavedQuestions(agentId, { signal }),
  });
  const last = useRef<Promise<void>>(Promise.resolve());
  async function replace(change: (kept: readonly string[]) => readonly string[]): Promise<void> {
    const { questions } = await parley.agents.getSavedQuestions(agentId);
    const saved = await parley.agents.replaceSavedQuestions(agentId, { questions: [...change(questions)] });
    queryClient.setQueryData(queryKey, saved);
  }
  return {
    questions: data?.questions ?? [],
    // One after the other, so that none is made to a list of before.
    change: (change) => {
      last.current = last.current.catch(() => {}).then(() => replace(change));
      return last.current;
    },
  };
}
