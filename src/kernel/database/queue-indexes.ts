/** An index of ours on the queue's table of jobs; `columns` has everything after the table's name. */
interface QueueIndex {
  readonly name: string;
  readonly columns: string;
}

/**
 * The indexes that the queue's own table lacks. Each holds only what it is for, so that a
 * healthy turn's job costs as little as possible.
 */
export const queueIndexes: readonly QueueIndex[] = [
  // Jobs without attempts left, which are counted at every scrape.
  { name: "parley_dead_jobs", columns: "(task_id) where attempts >= max_attempts" },
  // Jobs that wait for a slot of their kind, by tenant (`queue/parked-jobs.ts`).
  {
    name: "parley_parked_jobs",
    columns: "(task_id, coalesce(payload ->> 'tenantId', ''), run_at) where priority = 1",
  },
  // "Which jobs does this worker have?", for those whose worker is lost, or that a worker does not know it has.
  { name: "parley_locked_jobs", columns: "(locked_by) where locked_by is not null" },
];
